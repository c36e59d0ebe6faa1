#include <doctest/doctest.h>

#include "adapters/trace/mapped_libraries.h"
#include "adapters/trace/process_life.h"

using namespace tocsin::adapters::trace;

namespace {

constexpr std::string_view maps =
    "55d0c0000000-55d0c0001000 r-xp 00001000 08:01 100                        /usr/bin/python3.11\n"
    "7f0000000000-7f0000100000 r--p 00000000 08:01 200                        /venv/torch/lib/libtorch_cpu.so\n"
    "7f0000100000-7f0000200000 r-xp 00100000 08:01 200                        /venv/torch/lib/libtorch_cpu.so\n"
    "7f0000200000-7f0000300000 r-xp 00200000 08:01 200                        /venv/torch/lib/libtorch_cpu.so\n"
    "7f0001000000-7f0001001000 r-xp 00003000 00:2a 300                        /a b/libnccl.so.2 (deleted)\n"
    "7f0002000000-7f0002001000 r-xp 00000000 08:01 400                        /usr/lib/libcudart.so.12\n"
    "7f0003000000-7f0003001000 r-xp 00000000 08:01 500                        /usr/lib/libcuda.so.580.159.04\n"
    "7f0004000000-7f0004001000 r-xp 00000000 08:01 600                        /wheel/libnccl-1ae7ea91.so.2\n"
    "7f0005000000-7f0005001000 r-xp 00000000 08:01 700                        /usr/lib/libcudadebugger.so.1\n"
    "7f0006000000-7f0006001000 rwxp 00000000 00:00 0 \n"
    "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]\n";

}  // namespace

TEST_CASE("libraries are known by their names, each file once, and only what may run") {
  const auto found = mapped_libraries(maps);
  REQUIRE(found.size() == 4);
  CHECK(found[0].kind == LibraryKind::torch);
  CHECK(found[0].file == MappedFile{"08:01", 200, "/venv/torch/lib/libtorch_cpu.so", "7f0000100000-7f0000200000"});
  CHECK(found[1].kind == LibraryKind::nccl);
  CHECK(found[1].file == MappedFile{"00:2a", 300, "/a b/libnccl.so.2", "7f0001000000-7f0001001000"});
  CHECK(found[2].kind == LibraryKind::cuda);
  CHECK(found[2].file.inode == 500);
  CHECK(found[3].file.path == "/wheel/libnccl-1ae7ea91.so.2");
}

TEST_CASE("an address of code is a place in a file") {
  const auto place = code_at(maps, 0x7f0000212345);
  REQUIRE(place);
  CHECK(place->first.inode == 200);
  CHECK(place->second == 0x212345);
  CHECK(!code_at(maps, 0x7f0006000010));  // of no file
  CHECK(!code_at(maps, 0x7f0000300000));  // the end is not in it
  CHECK(!code_at(maps, 0x7f0000000010));  // not to be run
}

TEST_CASE("lines that are no mappings, or cut short, are nothing") {
  for (std::size_t length = 0; length < maps.size(); ++length)
    CHECK(mapped_libraries(maps.substr(0, length)).size() <= 4);
  for (const std::string_view text : {"", "\n\n", "libnccl.so", "/libnccl.so.2", "x-y r-xp z 08:01 5 /libnccl.so.2",
                                      "1-2 r-xp 0 08:01 5x /libnccl.so.2", "1-2 r-xp 0 08:01 5 libnccl.so.2",
                                      "99999999999999999999-2 r-xp 0 08:01 5 /libnccl.so.2"})
    CHECK(mapped_libraries(text).empty());
}

TEST_CASE("a process is named by its start, also where its name has blanks and parentheses") {
  CHECK(start_in_stat("12 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20 21\n") == 777);
  CHECK(!start_in_stat("12 (a) Z 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20 21\n"));  // it has ended
  for (const std::string_view text :
       {"", "12 (a", "12 (a) S 1 2", "12 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x"})
    CHECK(!start_in_stat(text));
}
