// No code of its own: what CMake needs to precompile headers for (CMakeLists.txt).
