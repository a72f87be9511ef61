package lab;

import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.runner.IterationType;
import org.openjdk.jmh.util.Version;

/**
 * The benchmark: a pass over the inputs of one operation. The environment names their file and that
 * of the times that they take; system properties the worker and the folder of its jars.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class Jmh {
    /** What is measured, for JMH's reports. */
    @Param("")
    public String cell;

    private Callable<?> pass;
    private Consumer<Boolean> end;

    /** JMH tells no number of calls by itself. */
    @State(Scope.Thread)
    @AuxCounters(AuxCounters.Type.EVENTS)
    public static class Count {
        public long passes;
    }

    /** The first outputs must be right, else nothing is timed. */
    @Setup
    @SuppressWarnings("unchecked")
    public void prepare() throws Exception {
        // JMH takes no benchmark of the unnamed package, and no other can name the classes there.
        Object inputs = Class.forName("Inputs")
                .getConstructor(String.class, Path.class, Path.class, Path.class, Boolean.class)
                .newInstance(System.getProperty("worker"), Path.of(System.getProperty("jars")),
                        Path.of(System.getenv("MLDSA_LAB_INPUTS")), Path.of(System.getenv("MLDSA_LAB_TIMES")),
                        System.getenv("MLDSA_LAB_MEMORY") != null);
        pass = (Callable<?>) inputs;
        end = (Consumer<Boolean>) inputs;
        pass.call();
        end.accept(false);
    }

    @Benchmark
    public Object pass(Count count) throws Exception {
        count.passes++;
        return pass.call();
    }

    @TearDown(Level.Iteration)
    public void end(IterationParams iteration) {
        end.accept(iteration.getType() == IterationType.MEASUREMENT);
    }

    /** JMH's own; without arguments it prints JMH's version. */
    public static void main(String[] arguments) throws Exception {
        if (arguments.length == 0) {
            System.out.println(Version.getPlainVersion());
        } else {
            org.openjdk.jmh.Main.main(arguments);
        }
    }
}
