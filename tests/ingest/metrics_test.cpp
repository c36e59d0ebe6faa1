// Each format of metrics: what of it becomes samples.
#include <cmath>

#include "tests/ingest/collected.h"

using namespace tocsin::tests;

TEST_CASE("exposition text becomes samples of GPUs, with their names once a message") {
  const auto made = collect(source("prometheus_text"), R"(# HELP DCGM_FI_DEV_SM_CLOCK the clock
# TYPE DCGM_FI_DEV_SM_CLOCK gauge
DCGM_FI_DEV_SM_CLOCK{gpu="1",UUID="GPU-aa",pci_bus_id="00000000:3B:00.0",Hostname="n1",hpc_job="77"} 1410
DCGM_FI_DEV_GPU_TEMP{gpu="1", UUID="GPU-aa", pci_bus_id="00000000:3B:00.0", Hostname="n1", hpc_job="77",} 61.5 1789999998000

nccl_bus_bandwidth_gbs{slurm_job_id="77",node="n1",gpu="GPU1"} 1.5e2
)");
  CHECK(made.records ==
        Lines{"3 77 n1 00000000:3B:00.0: member gpu_pci='00000000:3B:00.0' gpu_uuid='GPU-aa' gpu_index='1'",
              "3 77 n1 00000000:3B:00.0: DCGM_FI_DEV_SM_CLOCK=1410",
              "4 77 n1 00000000:3B:00.0: DCGM_FI_DEV_GPU_TEMP=61.5 @-2", "6 77 n1 1: nccl_bus_bandwidth_gbs=150"});
  CHECK(made.problems.empty());
}

TEST_CASE("values of exposition text can be infinite or no number, and escapes in labels are read") {
  const auto made = collect(source("prometheus_text"),
                            "loss{job_id=\"a\\\"b\\\\c\\nd\"} NaN\nloss{job_id=\"x\"} -Inf\nloss{job_id=\"x\"} +Inf"
                            "\nloss{job_id=\"x\"} -1e999\nloss{job_id=\"x\"} 1e999");
  CHECK(made.records ==
        Lines{"1 a\"b\\c\nd: loss=nan", "2 x: loss=-inf", "3 x: loss=inf", "4 x: loss=-inf", "5 x: loss=inf"});
}

TEST_CASE("what DCGM does not know is no value") {
  const auto made =
      collect(source("prometheus_text"), R"(DCGM_FI_DEV_MEMORY_TEMP{gpu="0",Hostname="n",job_id="j"} 9223372036854775794
DCGM_FI_DEV_FB_USED{gpu="0",Hostname="n",job_id="j"} 2147483634
DCGM_FI_PROF_SM_ACTIVE{gpu="0",Hostname="n",job_id="j"} 140737488355330.000000
other{job_id="j"} 2147483634)");
  CHECK(made.records == Lines{"4 j: other=2147483634"});
  CHECK(made.unwanted_values == 3);
}

TEST_CASE("a part of a GPU is reported, and buckets of histograms are no samples") {
  const auto made =
      collect(source("prometheus_text"), R"(DCGM_FI_DEV_FB_USED{gpu="0",GPU_I_ID="7",Hostname="n",job_id="j"} 5
lat_bucket{le="0.1",job_id="j"} 5
lat_quantile{quantile="0.5",job_id="j"} 5)");
  CHECK(made.records.empty());
  CHECK(made.problems == Lines{"1 part_of_gpu: the value is of a part of a GPU (MIG): its label GPU_I_ID is set"});
  CHECK(made.unwanted_values == 2);
}

TEST_CASE("a bad line of exposition text costs itself alone and is named with its place") {
  const auto made = collect(
      source("prometheus_text"),
      "a{job_id=\"j} 1\nb{job_id=\"j\"} x\nc{job_id=\"j\" 1\n{} 1\nd{job_id=\"j\"} 1 soon\ne{job_id=\"j\"} 2\n");
  CHECK(made.records == Lines{"6 j: e=2"});
  REQUIRE(made.problems.size() == 5);
  CHECK(made.problems[0] ==
        "1 malformed: no line of exposition text: the value of a label has no closing quote: 'a{job_id=\"j} 1'");
  CHECK(made.problems[1].find("2 malformed: no line of exposition text: a number is missing") == 0);
  CHECK(made.problems[4].find("not a time: write milliseconds") != std::string::npos);
}

TEST_CASE("prometheus-kafka-adapter's objects become samples, and the end of a series is none") {
  const auto made = collect(
      source("prometheus_json"),
      R"({"value":"0.97","timestamp":"2026-09-21T13:33:18Z","name":"sm_active","labels":{"__name__":"sm_active","job":"dcgm","job_id":"5","Hostname":"n2","gpu":"3"}}
{"value":"+Inf","timestamp":"2026-09-21T14:13:20Z","name":"loss","labels":{"job_id":"5"}}
{"value":"NaN","timestamp":"2026-09-21T14:13:20Z","name":"loss","labels":{"job_id":"5"}}
{"value":"x","name":"loss","labels":{"job_id":"5"}}
{"value":"1","name":"loss","labels":{"job":"dcgm"}})");
  CHECK(made.records == Lines{"1 5 n2 3: sm_active=0.97 @-2402", "2 5: loss=inf"});
  CHECK(made.unwanted_values == 1);
  REQUIRE(made.problems.size() == 2);
  CHECK(made.problems[0] == "4 malformed: 'value' is not a number");
  CHECK(made.problems[1] == "5 no_job: no job: none of the usual labels (docs/ingest.md) has a value; it has job");
}

TEST_CASE("Telegraf's JSON, single and batch, becomes samples of all its fields") {
  const std::string one =
      R"({"fields":{"utilization_gpu":98,"memory_used":512,"pstate":"P0","ok":true,"x":null},"name":"nvidia_smi","tags":{"host":"n1","uuid":"GPU-1","slurm_jobid":"9"},"timestamp":1790000000})";
  const std::string made =
      "9 n1 GPU-1: nvidia_smi_utilization_gpu=98 nvidia_smi_memory_used=512 nvidia_smi_pstate='P0' nvidia_smi_ok=1";
  CHECK(collect(source("telegraf_json"), one).records == Lines{"1 " + made});
  const auto batch = collect(source("telegraf_json"), "{\n\"metrics\": [" + one + ",\n" + one + "]\n}\n");
  CHECK(batch.records == Lines{"1 " + made, "1 " + made});
  CHECK(collect(source("telegraf_json"), one + '\n' + one + '\n').records == Lines{"1 " + made, "2 " + made});
  CHECK(collect(source("telegraf_json"), "[" + one + "]").unwanted_values == 1);
}

TEST_CASE("line protocol becomes samples, escapes and kinds of values included") {
  const auto made = collect(
      source("influx"),
      R"(nvidia_smi,host=n\ 1,uuid=GPU-2,job_id=a\,b,name=NVIDIA\ H100 temperature_gpu=53i,power_draw=98.5,state="P\"2, x",on=t 1789999999500000000
loss,job_id=3 value=2.5
prometheus,job_id=3 tokens_per_s=1e3
)");
  CHECK(made.records == Lines{"1 a,b n 1 GPU-2: nvidia_smi_temperature_gpu=53 nvidia_smi_power_draw=98.5 "
                              "nvidia_smi_state='P\"2, x' nvidia_smi_on=1 @-0.5",
                              "2 3: loss=2.5", "3 3: tokens_per_s=1000"});
  CHECK(made.problems.empty());
}

TEST_CASE("the time of line protocol is read in the unit that its writer has set") {
  const auto made = collect(source("influx"),
                            "a,job_id=3 value=1 1789999998\na,job_id=3 value=1 1789999998000\na,job_id=3 value=1 "
                            "1789999998000000\na,job_id=3 value=1 1789999998000000000");
  CHECK(made.records == Lines{"1 3: a=1 @-2", "2 3: a=1 @-2", "3 3: a=1 @-2", "4 3: a=1 @-2"});
}

TEST_CASE("bad line protocol is named with its place") {
  const auto made =
      collect(source("influx"), "a,b c=1\na\na b=\"x\na b=1 soon\n,x=1 y=2\na b=12k\nok,job_id=1 value=1");
  CHECK(made.records == Lines{"7 1: ok=1"});
  REQUIRE(made.problems.size() == 6);
  CHECK(made.problems[0] == "1 malformed: no line protocol: a tag is written NAME=VALUE: 'a,b c=1'");
  CHECK(made.problems[3] ==
        "4 malformed: no line protocol: the text after the fields is not a time since 1970: 'a b=1 soon'");
}

TEST_CASE("Vector's gauges and sums become samples, differences are refused, and sets are no samples") {
  const auto made = collect(
      source("vector_metrics"),
      R"({"name":"power","namespace":"gpu","tags":{"host":"n1","job_id":["8",null]},"timestamp":"2026-09-21T14:13:19.5Z","kind":"absolute","gauge":{"value":301.5}}
{"name":"sent","tags":{"job_id":"8"},"kind":"absolute","counter":{"value":12.0}}
{"name":"sent","tags":{"job_id":"8"},"kind":"incremental","counter":{"value":1.0}}
{"name":"users","kind":"incremental","set":{"values":["a"]}})");
  CHECK(made.records == Lines{"1 8 n1: gpu_power=301.5 @-0.5", "2 8: sent=12"});
  REQUIRE(made.problems.size() == 1);
  CHECK(made.problems[0].find("3 unsupported: the value is a difference") == 0);
  CHECK(made.unwanted_values == 1);
}

TEST_CASE("bytes that are no JSON are named with what they begin with") {
  CHECK(collect(source("telegraf_json"), "oops").problems.front().find("1 malformed: no JSON (") == 0);
  CHECK(collect(source("prometheus_json"), "[1]").problems == Lines{"1 malformed: no JSON object"});
  CHECK(collect(source("prometheus_json"), "").problems.size() == 1);
  const auto huge = collect(source("influx"), std::string(5u << 20, 'x'));
  CHECK(huge.problems == Lines{"1 too_large: the message has more than 4 MiB"});
}
