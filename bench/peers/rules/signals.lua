signals {
  value = { kind = "gauge", unit = "none", owner = "rank", documentation = "What each rank measures once a second." },
}
