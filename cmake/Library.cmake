# tocsin_library(NAME SOURCES... LINKS...): one library a folder, whose PUBLIC links are exactly the arrows of the design;
# PRIVATE takes what stays behind its own sources.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

add_library(tocsin_options INTERFACE)
target_compile_options(tocsin_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Werror
  -ffp-contract=off)
target_include_directories(tocsin_options INTERFACE ${PROJECT_SOURCE_DIR})

# In a unity build sources see each other's local names, and are included as headers are: what these warnings say of them holds only there.
# dev compiles each source by itself, with the warnings.
set(in_batches "$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>")
target_compile_options(tocsin_options INTERFACE
  $<${in_batches}:-Wno-shadow> $<$<AND:${in_batches},$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>)

# tocsin_alone(SOURCES...): compiled by themselves in a unity build (see CMakePresets.json), where their own names meet others'.
function(tocsin_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# tocsin_waiting(LIBRARIES...): what they do waits for the network: compiled in two thirds of the time, they are as fast. All of them use Asio,
# which has fences; g++ knows none under the thread sanitizer.
function(tocsin_waiting)
  foreach(library ${ARGN})
    target_compile_options(${library} PRIVATE $<$<CONFIG:Release>:-O1> $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  endforeach()
endfunction()

function(tocsin_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_PUBLIC} PRIVATE tocsin_options ${ARG_PRIVATE})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_options(${name} PUBLIC -ffp-contract=off)
endfunction()
