import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.List;

/** Warms up and takes samples. Collections that fall into a sample are in its wall time. */
final class Timing {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final boolean HAS_CPU = THREADS.isCurrentThreadCpuTimeSupported();
    static final String CPU_CLOCK = HAS_CPU ? "ThreadMXBean.getCurrentThreadCpuTime" : "none";

    private Timing() {}

    /** `wall` and `cpu` are ns for all calls of one input; `failure` is null where there was none. */
    record Sample(int index, long wall, String cpu, byte[] digest, String failure) {}

    static List<Sample> measure(List<Variant.Operation> inputs, long passes, long calls, long warmup) {
        List<Sample> samples = new ArrayList<>();
        if (inputs.isEmpty()) {
            return samples;
        }
        long began = System.nanoTime();
        int next = 0;
        do {
            take(next, inputs.get(next), 1);
            next = (next + 1) % inputs.size();
        } while (System.nanoTime() - began < warmup);
        for (long pass = 0; pass < passes; pass++) {
            for (int i = 0; i < inputs.size(); i++) {
                samples.add(take(i, inputs.get(i), calls));
            }
        }
        return samples;
    }

    private static Sample take(int index, Variant.Operation operation, long calls) {
        byte[] output = null;
        try {
            long cpu = threadTime();
            long wall = System.nanoTime();
            for (long i = 0; i < calls; i++) {
                output = operation.run();
            }
            wall = System.nanoTime() - wall;
            cpu = threadTime() - cpu;
            return new Sample(index, wall, HAS_CPU ? Long.toString(cpu) : "-", sha256(operation.whole(output)), null);
        } catch (Exception | LinkageError error) {
            return new Sample(index, 0, "-", null, Text.oneLine(error));
        }
    }

    private static long threadTime() {
        return HAS_CPU ? THREADS.getCurrentThreadCpuTime() : 0;
    }

    static byte[] sha256(byte[] data) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(data);
        } catch (NoSuchAlgorithmException error) {
            throw new AssertionError("every Java platform has SHA-256", error);
        }
    }
}
