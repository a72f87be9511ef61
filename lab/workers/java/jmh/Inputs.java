import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.StringJoiner;
import java.util.concurrent.Callable;
import java.util.function.Consumer;

/**
 * The inputs of one benchmark, prepared by the worker's own code. As a Callable it performs each of
 * them once. As a Consumer it is told of the end of an iteration, and whether that was measured: what
 * came out last must be right, and the ns that each input took in it are a line of the file of times.
 *
 * The file of inputs has the lines of a `prepare` request between its first and its last one, and
 * after them, where outputs are known, for each input a line `sha256` with the digest of its output.
 */
public final class Inputs implements Callable<byte[][]>, Consumer<Boolean> {
    private final Worker.Job job;
    private final List<byte[]> digests = new ArrayList<>();
    private final Path times;
    private final byte[][] outputs;
    private final long[] taken;
    private final long[] allocated;
    /** Null where memory is not counted. */
    private final ThreadMXBean memory;

    public Inputs(String worker, Path jars, Path file, Path times, Boolean countMemory)
            throws IOException, Text.Malformed {
        List<String[]> body = new ArrayList<>();
        for (String line : Files.readAllLines(file, StandardCharsets.US_ASCII)) {
            String[] words = line.split(" ", 2);
            if (words[0].equals("sha256")) {
                digests.add(Text.parseHex(words[1], "sha256"));
            } else {
                body.add(words);
            }
        }
        this.times = times;
        job = Worker.parse(Worker.byId(Providers.find(worker, jars)), body);
        outputs = new byte[job.inputs().size()][];
        taken = new long[outputs.length];
        memory = countMemory ? (ThreadMXBean) ManagementFactory.getThreadMXBean() : null;
        allocated = new long[countMemory ? outputs.length : 0];
    }

    @Override
    public byte[][] call() throws Exception {
        if (outputs.length == 1 && memory == null) { // which needs no clock beside JMH's
            outputs[0] = job.inputs().get(0).run();
            return outputs;
        }
        long bytesBefore = memory == null ? 0 : memory.getCurrentThreadAllocatedBytes();
        long before = System.nanoTime();
        for (int i = 0; i < outputs.length; i++) {
            outputs[i] = job.inputs().get(i).run();
            long after = System.nanoTime();
            taken[i] += after - before;
            before = after;
            if (memory != null) {
                long bytes = memory.getCurrentThreadAllocatedBytes();
                allocated[i] += bytes - bytesBefore;
                bytesBefore = bytes;
            }
        }
        return outputs;
    }

    @Override
    public void accept(Boolean measured) {
        for (int i = 0; i < digests.size(); i++) {
            if (!Arrays.equals(Timing.sha256(job.inputs().get(i).whole(outputs[i])), digests.get(i))) {
                throw new IllegalStateException(
                        job.operation() + " of input " + job.numbers().get(i) + " gave a wrong output");
            }
        }
        if (measured) {
            StringJoiner line = new StringJoiner(" ", "", "\n");
            Arrays.stream(taken).forEach(ns -> line.add(Long.toString(ns)));
            Arrays.stream(allocated).forEach(bytes -> line.add(Long.toString(bytes)));
            try {
                Files.writeString(times, line.toString(), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            } catch (IOException error) {
                throw new IllegalStateException(times + ": cannot be written: " + error);
            }
        }
        Arrays.fill(taken, 0);
        Arrays.fill(allocated, 0);
    }
}
