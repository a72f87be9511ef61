import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.FileOutputStream;
import java.io.FileDescriptor;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The worker of the Java implementations: performs and times their operations for the lab, as
 * lab/workers/PROTOCOL.md defines. Arguments: its name in the registry, and the folder of the jars.
 */
final class Worker {
    private static final Set<String> FIELDS =
            Set.of("seed", "sk", "pk", "message", "context", "rnd", "signature", "ciphertext");
    private static final Map<String, List<String>> NEEDED = Map.of(
            "keygen", List.of("seed"),
            "sign", List.of("message", "context"),
            "verify", List.of("pk", "message", "context", "signature"),
            "encaps", List.of("pk"),
            "decaps", List.of("ciphertext"),
            "lookup", List.of());

    private final String name;
    private final Map<String, Variant> variants;
    private final Map<Long, Job> jobs = new HashMap<>();
    private final InputStream in = new BufferedInputStream(System.in, 1 << 16);
    private final PrintStream out;

    /** What a request `prepare` asks for. */
    record Job(String operation, List<String> numbers, List<Variant.Operation> inputs) {}

    private Worker(String name, List<Variant> variants, PrintStream out) {
        this.name = name;
        this.out = out;
        this.variants = byId(variants);
    }

    static Map<String, Variant> byId(List<Variant> variants) {
        Map<String, Variant> found = new LinkedHashMap<>();
        variants.forEach(variant -> found.put(variant.id(), variant));
        return found;
    }

    public static void main(String[] arguments) throws IOException {
        PrintStream out = new PrintStream(
                new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16),
                false, StandardCharsets.US_ASCII);
        System.setOut(System.err); // the protocol alone is on standard output
        if (arguments.length != 2) {
            System.err.println("usage: Worker NAME FOLDER-OF-JARS");
            System.exit(2);
        }
        List<Variant> variants = Providers.find(arguments[0], Path.of(arguments[1]));
        new Worker(arguments[0], variants, out).serve();
    }

    private void serve() throws IOException {
        try {
            for (String line = line(); !line.equals("quit"); line = line()) {
                try {
                    request(line);
                } catch (Text.Malformed error) {
                    out.println("error " + Text.oneLine(error));
                }
                out.flush();
            }
        } catch (EOFException end) {
            return;
        }
    }

    /** One whole line, a character for each byte; an unfinished one is the end of input. */
    private String line() throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int b = in.read(); b != '\n'; b = in.read()) {
            if (b < 0) {
                throw new EOFException();
            }
            line.write(b);
        }
        return line.toString(StandardCharsets.ISO_8859_1);
    }

    private void request(String line) throws IOException, Text.Malformed {
        String[] words = line.split(" ", 2);
        String rest = words.length < 2 ? "" : words[1];
        switch (words[0]) {
            case "hello" -> hello(rest);
            case "prepare" -> prepare(rest);
            case "answer" -> answer(job(rest), rest);
            case "measure" -> measure(rest.split(" ", -1));
            case "forget" -> {
                job(rest);
                jobs.remove(Text.parseNumber(rest));
                out.println("done " + rest);
            }
            default -> throw new Text.Malformed("unknown request " + Text.quote(line));
        }
    }

    private void hello(String version) throws Text.Malformed {
        if (!version.equals("1")) {
            throw new Text.Malformed("this worker speaks protocol 1, not " + Text.quote(version));
        }
        say("worker", name);
        say("protocol", "1");
        say("language", "Java");
        say("compiler", Machine.virtualMachine());
        say("flags", Machine.flags());
        say("unit", "ns");
        say("clock", "System.nanoTime");
        say("cpu_clock", Timing.CPU_CLOCK);
        for (Variant v : variants.values()) {
            say("variant", v.id());
            say("implementation", v.implementation());
            say("version", v.version());
            if (v.language() != null) {
                say("language", v.language());
            }
            say("backend", v.backend());
            say("key", v.key());
            say("family", v.family());
            say("sets", String.join(" ", v.sets()));
            say("operations", String.join(" ", v.operations()));
            say("rnd", v.rnd());
            say("context", v.context() ? "yes" : "no");
            say("private_keys", String.join(" ", v.privateKeys()));
            say("warmup", Long.toString(v.warmup()));
            say("note", v.note());
        }
        out.println("end");
    }

    private void say(String key, String value) {
        out.println(key + " " + value);
    }

    /** Reads the request through its end line before anything that is wrong with it is said. */
    private void prepare(String rest) throws IOException, Text.Malformed {
        List<String[]> body = new ArrayList<>();
        for (String line = line(); !line.equals("end"); line = line()) {
            body.add(line.split(" ", 2));
        }
        long number = Text.parseNumber(rest);
        jobs.put(number, parse(variants, body));
        out.println("ready " + rest);
    }

    /** The job of a request's lines, the first and the last one left out, each as key and value. */
    static Job parse(Map<String, Variant> variants, List<String[]> body) throws Text.Malformed {
        String[] head = new String[3];
        for (int i = 0; i < 3; i++) {
            String key = List.of("variant", "set", "operation").get(i);
            if (i >= body.size() || body.get(i).length != 2 || !body.get(i)[0].equals(key)) {
                throw new Text.Malformed("line " + (i + 2) + " of prepare must be `" + key + "` and its value");
            }
            head[i] = body.get(i)[1];
        }
        Variant variant = variants.get(head[0]);
        if (variant == null) {
            throw new Text.Malformed("unknown variant " + Text.quote(head[0]));
        }
        if (!variant.sets().contains(head[1]) || !variant.operations().contains(head[2])) {
            throw new Text.Malformed(
                    "variant " + head[0] + " has no " + Text.quote(head[2]) + " of " + Text.quote(head[1]));
        }
        Map<String, Map<String, byte[]>> inputs = new LinkedHashMap<>();
        Map<String, byte[]> fields = null;
        for (String[] line : body.subList(3, body.size())) {
            String value = line.length == 2 ? line[1] : "";
            if (line[0].equals("input")) {
                fields = new HashMap<>();
                if (inputs.put(Long.toUnsignedString(Text.parseNumber(value)), fields) != null) {
                    throw new Text.Malformed("input " + value + " is given twice");
                }
            } else if (fields == null || !FIELDS.contains(line[0])) {
                throw new Text.Malformed("unknown or misplaced field " + Text.quote(line[0]));
            } else if (fields.put(line[0], Text.parseHex(value, line[0])) != null) {
                throw new Text.Malformed(line[0] + " is given twice");
            }
        }
        Job job = new Job(head[2], new ArrayList<>(inputs.keySet()), new ArrayList<>());
        for (Map<String, byte[]> input : inputs.values()) {
            for (String field : NEEDED.get(head[2])) {
                if (!input.containsKey(field)) {
                    throw new Text.Malformed("an input has no " + field + ", which " + head[2] + " needs");
                }
            }
            job.inputs.add(prepared(variant, head[1], head[2], input));
        }
        return job;
    }

    /** An input that the implementation refuses is the business of its operation, not of the request. */
    private static Variant.Operation prepared(Variant variant, String set, String operation, Map<String, byte[]> in) {
        try {
            return variant.scheme().prepare(set, operation, in);
        } catch (Exception | LinkageError error) {
            Exception refusal = error instanceof Exception e ? e : new IllegalStateException(error);
            return () -> {
                throw refusal;
            };
        }
    }

    private Job job(String number) throws Text.Malformed {
        Job job = jobs.get(Text.parseNumber(number));
        if (job == null) {
            throw new Text.Malformed("unknown job " + number);
        }
        return job;
    }

    private void answer(Job job, String number) {
        for (int i = 0; i < job.inputs.size(); i++) {
            String line;
            try {
                Variant.Operation operation = job.inputs.get(i);
                line = "output " + job.numbers.get(i) + " " + Text.hex(operation.whole(operation.run()));
                if (job.operation.equals("keygen")) {
                    line += " " + Text.hex(operation.privateKey());
                }
            } catch (Exception | LinkageError error) {
                line = "failed " + job.numbers.get(i) + " " + Text.oneLine(error);
            }
            out.println(line);
        }
        out.println("done " + number);
    }

    private void measure(String[] words) throws Text.Malformed {
        if (words.length != 4) {
            throw new Text.Malformed("expected `measure JOB PASSES CALLS WARMUP`");
        }
        Job job = job(words[0]);
        long passes = Text.parseNumber(words[1]);
        long calls = Text.parseNumber(words[2]);
        long warmup = Text.parseNumber(words[3]);
        if (passes < 0 || calls <= 0 || warmup < 0) {
            throw new Text.Malformed("CALLS must be at least 1, and all numbers below 2^63");
        }
        for (Timing.Sample s : Timing.measure(job.inputs, passes, calls, warmup)) {
            String number = job.numbers.get(s.index());
            out.println(s.failure() != null
                    ? "failed " + number + " " + s.failure()
                    : "sample " + number + " " + s.wall() + " " + s.cpu() + " " + calls + " " + Text.hex(s.digest()));
        }
        out.println("done " + words[0]);
    }
}
