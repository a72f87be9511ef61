import java.util.ArrayList;
import java.util.List;

/**
 * A parameter set: its object identifier is 2.16.840.1.101.3.4.arc.number, its sizes are in bytes (FIPS 203
 * to 205): the encoded keys, what a key pair is made from, what signing or encapsulation may be given, and, of a
 * KEM, the ciphertext.
 */
record ParameterSet(String name, String family, int arc, int number, int pkBytes, int skBytes, int seedBytes,
        int rndBytes, int ciphertextBytes) {
    private static final List<ParameterSet> ALL = new ArrayList<>(List.of(
            new ParameterSet("ML-DSA-44", "ml-dsa", 3, 17, 1312, 2560, 32, 32, 0),
            new ParameterSet("ML-DSA-65", "ml-dsa", 3, 18, 1952, 4032, 32, 32, 0),
            new ParameterSet("ML-DSA-87", "ml-dsa", 3, 19, 2592, 4896, 32, 32, 0),
            new ParameterSet("ML-KEM-512", "ml-kem", 4, 1, 800, 1632, 64, 32, 768),
            new ParameterSet("ML-KEM-768", "ml-kem", 4, 2, 1184, 2400, 64, 32, 1088),
            new ParameterSet("ML-KEM-1024", "ml-kem", 4, 3, 1568, 3168, 64, 32, 1568)));

    static {
        int number = 20;
        for (String hash : List.of("SHA2", "SHAKE")) {
            for (int n : List.of(16, 24, 32)) {
                for (String kind : List.of("s", "f")) {
                    String name = "SLH-DSA-" + hash + "-" + 8 * n + kind;
                    ALL.add(new ParameterSet(name, "slh-dsa", 3, number++, 2 * n, 4 * n, 3 * n, n, 0));
                }
            }
        }
    }

    static List<ParameterSet> of(String family) {
        return ALL.stream().filter(set -> set.family.equals(family)).toList();
    }

    static ParameterSet named(String name) {
        return ALL.stream().filter(set -> set.name.equals(name)).findFirst().orElseThrow();
    }

    /** The family as services are named that serve all its sets. */
    String familyService() {
        return family.toUpperCase(java.util.Locale.ROOT);
    }

    /** As services of this set alone are named. */
    String service() {
        return name.toUpperCase(java.util.Locale.ROOT);
    }
}
