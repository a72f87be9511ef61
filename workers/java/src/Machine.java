import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** The virtual machine in words: its build, and what of its settings can change the code's speed. */
final class Machine {
    /** Those that this virtual machine does not know, or that its CPU does not have, are left out. */
    private static final List<String> OPTIONS = List.of(
            "UseAVX", "UseSHA3Intrinsics", "UseDilithiumIntrinsics", "UseKyberIntrinsics", "TieredCompilation",
            "UseJVMCICompiler");

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
        HotSpotDiagnosticMXBean options = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
        for (String option : OPTIONS) {
            try {
                flags.add(option + "=" + options.getVMOption(option).getValue());
            } catch (IllegalArgumentException | NullPointerException error) {
                // not an option of this one
            }
        }
        List<String> given = ManagementFactory.getRuntimeMXBean().getInputArguments();
        flags.add("options " + (given.isEmpty() ? "none" : String.join(" ", given)));
        return String.join("; ", flags);
    }
}
