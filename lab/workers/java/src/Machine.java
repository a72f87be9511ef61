import java.io.BufferedReader;
import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.PlatformManagedObject;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** The virtual machine in words: its build, and what of its settings can change the code's speed. */
final class Machine {
    /** Those that this virtual machine does not know, or that its CPU does not have, are left out. */
    private static final List<String> OPTIONS = List.of(
            "UseAVX", "UseSHA3Intrinsics", "UseDilithiumIntrinsics", "UseKyberIntrinsics",
            "UseSVE", "TieredCompilation", "UseJVMCICompiler");

    private Machine() {}

    static String virtualMachine() {
        return String.join(" ", property("java.vm.name"), property("java.vm.version"), property("java.vm.vendor"),
                property("os.arch"));
    }

    private static String property(String name) {
        return System.getProperty(name, "unknown").trim();
    }

    static String flags() {
        List<String> flags = new ArrayList<>();
        flags.add("GC " + ManagementFactory.getGarbageCollectorMXBeans().stream()
                .map(GarbageCollectorMXBean::getName).collect(Collectors.joining(", ")));
        flags.addAll(settings());
        List<String> given = ManagementFactory.getRuntimeMXBean().getInputArguments();
        flags.add("options " + (given.isEmpty() ? "none" : String.join(" ", given)));
        return String.join("; ", flags);
    }

    private static List<String> settings() {
        try {
            return settingsByBean();
        } catch (ReflectiveOperationException error) {
            return settingsByPrinting();
        }
    }

    /** By reflection, as not every runtime has its module jdk.management. */
    private static List<String> settingsByBean() throws ReflectiveOperationException {
        Class<?> kind = Class.forName("com.sun.management.HotSpotDiagnosticMXBean");
        Object bean = ManagementFactory.getPlatformMXBean(kind.asSubclass(PlatformManagedObject.class));
        Method read = kind.getMethod("getVMOption", String.class);
        List<String> settings = new ArrayList<>();
        for (String option : OPTIONS) {
            try {
                Object found = read.invoke(bean, option);
                settings.add(option + "=" + found.getClass().getMethod("getValue").invoke(found));
            } catch (InvocationTargetException error) {
                // not an option of this one
            }
        }
        return settings;
    }

    /** By a second machine, started as this one was, which prints its settings: `bool UseSHA = true {product}`. */
    private static List<String> settingsByPrinting() {
        List<String> command = new ArrayList<>(List.of(Path.of(property("java.home"), "bin", "java").toString()));
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.addAll(List.of("-XX:+PrintFlagsFinal", "-version"));
        try {
            Process printing = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
            try (BufferedReader lines = printing.inputReader()) {
                return lines.lines().map(line -> line.trim().split("[ :]*=* +"))
                        .filter(words -> words.length > 2 && OPTIONS.contains(words[1]))
                        .map(words -> words[1] + "=" + words[2]).toList();
            }
        } catch (IOException error) {
            return List.of("its settings cannot be read: " + Text.oneLine(error));
        }
    }
}
