"""A producer with a transaction that it leaves open, by librdkafka, with which the program is linked."""

import ctypes


class OpenTransaction:
    """One record in a partition of a topic; end() says whether the transaction was open until then."""

    def __init__(self, brokers, topic, partition):
        self.kafka = ctypes.CDLL("librdkafka.so.1")
        for name in ("conf_new", "new", "topic_new", "init_transactions", "begin_transaction", "abort_transaction"):
            getattr(self.kafka, "rd_kafka_" + name).restype = ctypes.c_void_p
        conf, why = ctypes.c_void_p(self.kafka.rd_kafka_conf_new()), ctypes.create_string_buffer(512)
        for key, value in (("bootstrap.servers", brokers), ("transactional.id", "open"), ("transaction.timeout.ms", "600000")):
            if self.kafka.rd_kafka_conf_set(conf, key.encode(), value.encode(), why, ctypes.c_size_t(512)) != 0:
                raise AssertionError(why.value)
        self.client = ctypes.c_void_p(self.kafka.rd_kafka_new(0, conf, why, ctypes.c_size_t(512)))    # 0: a producer
        self.call("init_transactions", ctypes.c_int(30_000))
        self.call("begin_transaction")
        at = ctypes.c_void_p(self.kafka.rd_kafka_topic_new(self.client, topic.encode(), None))
        sent = self.kafka.rd_kafka_produce(at, ctypes.c_int32(partition), ctypes.c_int(2), b"open", ctypes.c_size_t(4), None, ctypes.c_size_t(0), None)  # 2: copies
        if sent != 0 or self.kafka.rd_kafka_flush(self.client, ctypes.c_int(30_000)) != 0:
            raise AssertionError("a record in a transaction was not sent")
        self.kafka.rd_kafka_topic_destroy(at)

    def call(self, name, *arguments):
        if error := getattr(self.kafka, "rd_kafka_" + name)(self.client, *arguments):
            self.kafka.rd_kafka_error_string.restype = ctypes.c_char_p
            raise AssertionError(f"{name}: {self.kafka.rd_kafka_error_string(ctypes.c_void_p(error)).decode()}")

    def end(self):
        self.call("abort_transaction", ctypes.c_int(30_000))
        self.kafka.rd_kafka_destroy(self.client)
