"""A training script as a site instruments it with OpenTelemetry: otel_client.py PORT. Exports two points of a metric and a line of a log."""

import logging
import sys

from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk._logs import LoggerProvider, LoggingHandler
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource

address = f"http://127.0.0.1:{sys.argv[1]}"
resource = Resource({"job_id": "otel-job", "host.name": "n1"})

reader = PeriodicExportingMetricReader(OTLPMetricExporter(endpoint=f"{address}/v1/metrics"), export_interval_millis=3_600_000)
provider = MeterProvider([reader], resource=resource)
gauge = provider.get_meter("training").create_gauge("loss")
for rank in range(2):
    gauge.set(2.5 + rank, {"rank": str(rank)})
metrics = provider.force_flush()

logs = LoggerProvider(resource=resource)
logs.add_log_record_processor(SimpleLogRecordProcessor(OTLPLogExporter(endpoint=f"{address}/v1/logs")))
logger = logging.getLogger("training")
logger.addHandler(LoggingHandler(logger_provider=logs))
logger.warning("a line of rank 0", extra={"rank": "0"})
sys.exit(0 if metrics and logs.force_flush() else 1)
