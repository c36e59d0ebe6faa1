import com.espertech.esper.common.client.EPCompiled;
import com.espertech.esper.common.client.EventBean;
import com.espertech.esper.common.client.EventSender;
import com.espertech.esper.common.client.configuration.Configuration;
import com.espertech.esper.compiler.client.CompilerArguments;
import com.espertech.esper.compiler.client.EPCompilerProvider;
import com.espertech.esper.runtime.client.EPEventService;
import com.espertech.esper.runtime.client.EPRuntime;
import com.espertech.esper.runtime.client.EPRuntimeProvider;
import com.espertech.esper.runtime.client.EPStatement;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Map;
import java.util.TreeMap;

/** The five workloads by Esper, in one thread: Esper WORKLOADS ordered|late SECONDS PASSES, where WORKLOADS are digits, "3" or "12345". */
public class Esper {
  static final int JOBS = 4, RANKS = 1024;

  /** A sample: an object that exists before it is sent. */
  public static class Sample {
    private final int job, rank, late;
    private final long t, value;

    Sample(int job, int rank, long t, long value, int late) {
      this.job = job;
      this.rank = rank;
      this.t = t;
      this.value = value;
      this.late = late;
    }

    long arrival() { return t + late; }

    public int getJob() { return job; }
    public int getRank() { return rank; }
    public long getT() { return t; }
    public long getValue() { return value; }
  }

  static final class AlertSet {
    long count, hash;

    void add(int workload, EventBean alert) {
      ++count;
      int job = (Integer) alert.get("job"), rank = (Integer) alert.get("rank");
      hash += mix(mix(mix(mix(workload) + job) + rank) + (Long) alert.get("t"));
    }
  }

  static long mix(long z) {
    z += 0x9E3779B97F4A7C15L;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  static long draw(long kind, long job, long rank, long at) {
    return mix(mix(mix(mix(20240817 + kind) + job) + rank) + at);
  }

  static boolean divides(long divisor, long number) { return Long.remainderUnsigned(number, divisor) == 0; }

  /** The samples of log_of in samples.h, in the order in which they arrive. */
  static Sample[] samples(int seconds, boolean late) {
    Sample[] all = new Sample[JOBS * RANKS * seconds];
    int count = 0;
    for (int s = 0; s < seconds; ++s)
      for (int job = 0; job < JOBS; ++job)
        for (int rank = 0; rank < RANKS; ++rank) {
          long absent = draw(2, job, rank, s / 300), from = (absent >>> 16) % 200, length = 45 + (absent >>> 32) % 15;
          if (divides(500, absent) && from <= s % 300 && s % 300 < from + length) continue;
          long slow = draw(1, job, rank, s / 300), slowFrom = (slow >>> 16) % 150, drawn = draw(4, job, rank, s);
          long value = 900 + Long.remainderUnsigned(drawn, 201);
          if ((drawn >>> 32) % 65536 == 0) value += 1000;
          if (divides(500, slow) && slowFrom <= s % 300 && s % 300 < slowFrom + 90) value += 700;
          long delay = draw(5, job, rank, s);
          all[count++] = new Sample(job, rank, s * 1000L, value, late && divides(20, delay) ? 1 + (int) ((delay >>> 32) % 2000) : 0);
        }
    all = Arrays.copyOf(all, count);
    Arrays.sort(all, Comparator.comparingLong(Sample::arrival));
    return all;
  }

  static String statements(char workload, int seconds) {
    switch (workload) {
      case '1': return "@name('W1') select job, rank, t from Sample(value > 1000000);";
      case '2': return "@name('W2') select job, rank, t, sum(value) as s from Sample group by job, rank having sum(value) > "
          + (1000 * seconds + 20000) + ";";
      case '3': return "@name('W3') select job, rank, t, avg(value) as m from Sample#ext_timed(t, 60 sec) group by job, rank "
          + "having avg(value) > 1500 and count(*) >= 30;";
      case '4': return "create table Newest(job int primary key, rank int primary key, t long);"
          + "on Sample(rank >= 0) e merge Newest l where l.job = e.job and l.rank = e.rank when matched then update set t = e.t "
          + "when not matched then insert select job, rank, t;"
          + "@name('W4') on pattern[every timer:interval(1 sec)] select l.job as job, l.rank as rank, l.t as t from Newest l "
          + "where current_timestamp() - l.t >= 30000 and current_timestamp() - l.t < 31000;";
      case '5': return "@name('W5') select job, rank, t from Sample#ext_timed_batch(t, 1 sec, 0L) where rank >= 0 group by job "
          + "having value > 1.5 * median(value);";
      default: throw new IllegalArgumentException("workloads are 1 to 5, not " + workload);
    }
  }

  static Configuration configuration() {
    Configuration configuration = new Configuration();
    configuration.getCommon().addEventType(Sample.class);
    configuration.getRuntime().getThreading().setInternalTimerEnabled(false);
    // Left out is what Esper does for several threads that send.
    configuration.getRuntime().getThreading().setListenerDispatchPreserveOrder(false);
    configuration.getRuntime().getThreading().setInsertIntoDispatchPreserveOrder(false);
    configuration.getRuntime().getExecution().setDisableLocking(true);
    return configuration;
  }

  static double processSeconds() {
    return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime() * 1e-9;
  }

  static double threadSeconds() { return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() * 1e-9; }

  /** Sends samples in the order of their times, with the clock before each; a last one, of no rank, closes what is open. */
  static final class Feed {
    private final EPEventService service;
    private final EventSender sender;
    private final ArrayList<ArrayList<Sample>> ring = new ArrayList<>();
    private long clock, open;

    Feed(EPEventService service) {
      this.service = service;
      sender = service.getEventSender("Sample");
      for (int i = 0; i < 4; ++i) ring.add(new ArrayList<>());
    }

    void send(Sample sample) {
      long second = sample.t / 1000 * 1000;
      if (second > clock) service.advanceTime(clock = second);
      sender.sendEvent(sample);
    }

    void close() {
      ArrayList<Sample> samples = ring.get((int) (open++ % 4));
      for (Sample sample : samples) send(sample);
      samples.clear();
    }

    void run(Sample[] samples, boolean late, int seconds) {
      if (late) {
        for (Sample sample : samples) {
          // None is more than 2 s late: a second is complete once a sample has arrived after that.
          while (sample.arrival() > open * 1000 + 2000) close();
          ring.get((int) (sample.t / 1000 % 4)).add(sample);
        }
        for (int left = 0; left < 4; ++left) close();
      } else {
        for (Sample sample : samples) send(sample);
      }
      send(new Sample(-1, -1, seconds * 1000L, 0, 0));
    }
  }

  public static void main(String[] arguments) throws Exception {
    String workloads = arguments[0];
    boolean late = arguments[1].equals("late");
    int seconds = Integer.parseInt(arguments[2]), passes = Integer.parseInt(arguments[3]);
    StringBuilder module = new StringBuilder();
    for (char workload : workloads.toCharArray()) module.append(statements(workload, seconds));
    EPCompiled compiled = EPCompilerProvider.getCompiler().compile(module.toString(), new CompilerArguments(configuration()));
    Sample[] samples = samples(seconds, late);
    String first = null;
    StringBuilder took = new StringBuilder();
    for (int pass = 0; pass < passes; ++pass) {
      Map<String, AlertSet> alerts = new TreeMap<>();
      EPRuntime runtime = EPRuntimeProvider.getRuntime("pass" + pass, configuration());
      EPEventService service = runtime.getEventService();
      service.advanceTime(0);
      for (EPStatement statement : runtime.getDeploymentService().deploy(compiled).getStatements()) {
        String name = statement.getName();
        if (!name.matches("W[1-5]")) continue;
        AlertSet set = new AlertSet();
        alerts.put(name, set);
        int workload = name.charAt(1) - '0';
        statement.addListener((fresh, old, of, from) -> {
          for (EventBean alert : fresh) set.add(workload, alert);
        });
      }
      Feed feed = new Feed(service);
      System.gc();
      double process = processSeconds(), thread = threadSeconds();
      long wall = System.nanoTime();
      feed.run(samples, late, seconds);
      double wallSeconds = (System.nanoTime() - wall) * 1e-9;
      took.append(String.format("%s[%.6f,%.6f,%.6f]", pass > 0 ? "," : "", threadSeconds() - thread, wallSeconds, processSeconds() - process));
      StringBuilder found = new StringBuilder();
      alerts.forEach((name, set) -> found.append(
          String.format("%s\"%s\":[%d,\"%016x\"]", found.length() > 0 ? "," : "", name, set.count, set.hash)));
      if (first != null && !first.equals(found.toString())) throw new IllegalStateException("two passes gave different alerts");
      first = found.toString();
      runtime.destroy();
    }
    System.out.printf("{\"samples\":%d,\"passes\":[%s],\"alerts\":{%s}}%n", samples.length, took, first);
  }
}
