-- What bench_kafka_post makes fire: one sample, one tick, one alert.
rule "bench_flag" {
  family = "C", severity = "warning", per = "job", every = "flag",
  summary = "The benchmark asks for an alert",
  needs = { flag = signal "bench_flag" { over = 1 } },
  shows = "the flag is {value}",
  evaluate = function(job)
    local value = job.flag:last()
    return value:above(0), { value = value }
  end,
}
