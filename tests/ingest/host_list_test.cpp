// Slurm's lists of nodes as names.
#include "adapters/ingest/host_list.h"

#include "tests/ingest/collected.h"

using namespace tocsin;
using namespace tocsin::tests;
using adapters::ingest::hosts_in;
using adapters::ingest::longest_host_list;
using adapters::ingest::most_hosts;

namespace {

Lines hosts(std::string_view list) {
  const auto expanded = hosts_in(list);
  REQUIRE_MESSAGE(expanded, expanded.error().message);
  return *expanded;
}
std::string problem(std::string_view list) {
  const auto expanded = hosts_in(list);
  REQUIRE_MESSAGE(!expanded, list);
  return std::string{stream::name(expanded.error().code)} + ' ' + expanded.error().message;
}

}  // namespace

TEST_CASE("a list of nodes is a name, several, or names with numbers in brackets") {
  CHECK(hosts("vm") == Lines{"vm"});
  CHECK(hosts("n1,login,n2.example.org") == Lines{"n1", "login", "n2.example.org"});
  CHECK(hosts("node[07-08]") == Lines{"node07", "node08"});
  CHECK(hosts("n[1,3-5,9]-ib,x") == Lines{"n1-ib", "n3-ib", "n4-ib", "n5-ib", "n9-ib", "x"});
  CHECK(hosts("[1-2]") == Lines{"1", "2"});
}

TEST_CASE("each number has the digits of the first of its range") {
  CHECK(hosts("n[001,7,08-11,98-101]") ==
        Lines{"n001", "n7", "n08", "n09", "n10", "n11", "n98", "n99", "n100", "n101"});
  CHECK(hosts("n[000000000000000001]") == Lines{"n000000000000000001"});
}

TEST_CASE("several brackets in a name stand for each with each, the last one first") {
  CHECK(hosts("gpu-a[1-2]b[3-4],c[0][1]") == Lines{"gpu-a1b3", "gpu-a1b4", "gpu-a2b3", "gpu-a2b4", "c01"});
}

TEST_CASE("a list that is none says what is wrong with it") {
  CHECK(problem("") == "malformed an empty name");
  CHECK(problem("n1,") == "malformed an empty name");
  CHECK(problem("n1,,n2") == "malformed an empty name");
  CHECK(problem("None assigned") == "malformed a blank in a name: 'None assigned'");
  CHECK(problem("n[1-3") == "malformed a '[' without its ']': 'n[1-3'");
  CHECK(problem("n1-3]") == "malformed a ']' without its '[': 'n1-3]'");
  CHECK(problem("n[1-[2]]") == "malformed a '[' within brackets: 'n[1-[2]]'");
  CHECK(problem("a,n[]") == "malformed '' is neither a number nor a range of numbers: 'n[]'");
  CHECK(problem("n[1,]") == "malformed '' is neither a number nor a range of numbers: 'n[1,]'");
  CHECK(problem("n[1-2-3]") == "malformed '1-2-3' is neither a number nor a range of numbers: 'n[1-2-3]'");
  CHECK(problem("bgp[000x133]") == "malformed '000x133' is neither a number nor a range of numbers: 'bgp[000x133]'");
  CHECK(problem("n[+1]") == "malformed '+1' is neither a number nor a range of numbers: 'n[+1]'");
  CHECK(problem("n[9-3]") == "malformed the range 9-3 runs backwards: 'n[9-3]'");
  CHECK(problem("n[0000000000000000001]").starts_with("malformed '0000000000000000001' is neither a number"));
  CHECK(problem(std::string(256, 'n')).starts_with("malformed a name of more than 255 bytes"));
}

TEST_CASE("a list of more nodes than any cluster has is refused before it is expanded") {
  CHECK(hosts("n[1-100000]").size() == most_hosts);
  for (const char* list :
       {"n[1-100001]", "n[0-99999],x", "n[0-999999999999999999]", "n[0-999]a[0-999]b[0-999]c[0-999]d[0-999]e[0-999]"})
    CHECK(problem(list) == "too_large more than 100000 nodes");
  CHECK(problem("n[" + std::string(longest_host_list, '1') + "]") == "too_large a list of more than 512 KiB");
}
