// Who asks for a reload gets an answer, whatever happens.
#include "adapters/service/reload_requests.h"

#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using namespace tocsin;
using adapters::service::Reloaded;
using adapters::service::ReloadRequests;

TEST_CASE("all who asked are taken at once, and each is answered by whoever took them") {
  ReloadRequests requests;
  std::vector<std::string> answers;
  const auto keep = [&](const stream::Result<Reloaded>& reloaded) {
    answers.push_back(reloaded ? reloaded->hash : "none");
  };
  requests.ask(keep);
  requests.ask();  // a signal waits for no answer
  requests.ask(keep);
  const auto taken = requests.take(0ms);
  CHECK(taken.size() == 3);
  CHECK(requests.take(1ms).empty());
  for (const auto& answer : taken)
    if (answer) answer(Reloaded{"abc", true});
  CHECK(answers == std::vector<std::string>{"abc", "abc"});
}

TEST_CASE("a request ends the wait for one") {
  ReloadRequests requests;
  std::thread asks{[&] { requests.ask(); }};
  CHECK(requests.take(60s).size() == 1);
  asks.join();
}

TEST_CASE("at the end those who wait are refused, and so are all who come later") {
  ReloadRequests requests;
  std::vector<std::string> answers;
  const auto keep = [&](const stream::Result<Reloaded>& reloaded) {
    answers.push_back(reloaded ? "done" : reloaded.error().message);
  };
  requests.ask(keep);
  requests.close();
  requests.close();
  requests.ask(keep);
  CHECK(answers == std::vector<std::string>(2, "this instance is stopping: ask another one"));
  CHECK(requests.take(60s).empty());
}
