import java.io.IOException;
import java.lang.reflect.Constructor;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.Provider;
import java.security.Security;
import java.security.spec.AlgorithmParameterSpec;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** The providers that can be had here, and what is known of each. */
final class Providers {
    private static final String CALLS = "JCA, by one Signature object for each input: initSign or initVerify, update, "
            + "sign or verify in each call; default garbage collector";
    private static final String SEEDED = "; keygen is KeyPairGenerator, whose SecureRandom gives the seed, and the "
            + "public key's X.509 encoding";
    private static final String HEDGED = "; signs hedged only, and makes no key pair from a seed";
    private static final long JIT = 4_000_000_000L; // ns; docs/decisions/0012 has why
    private static final long JIT_OF_CALLS = 300_000_000; // where Java does little more than call C

    private final String worker;
    private final Path jars;
    private final List<Variant> found = new ArrayList<>();

    private Providers(String worker, Path jars) {
        this.worker = worker;
        this.jars = jars;
    }

    private interface Step {
        void add() throws Exception;
    }

    /**
     * All variants. The worker's name is part of their backends: another virtual machine's are others. A
     * provider that cannot be used here is left out, and standard error says why.
     */
    static List<Variant> find(String worker, Path jars) {
        Providers providers = new Providers(worker, jars);
        providers.attempt("bouncycastle", providers::bouncyCastle);
        providers.attempt("jdk", providers::ownProvider);
        providers.attempt("accp", providers::corretto);
        providers.attempt("conscrypt", providers::conscrypt);
        return providers.found;
    }

    private void attempt(String name, Step step) {
        try {
            step.add();
        } catch (Exception | LinkageError error) {
            System.err.println("worker " + worker + ": " + name + " is left out: " + Text.oneLine(error));
        }
    }

    private void bouncyCastle() throws Exception {
        for (Path jar : list("bcprov-jdk18on-*.jar")) {
            Provider provider = load(jar, "org.bouncycastle.jce.provider.BouncyCastleProvider");
            Constructor<?> context = provider.getClass().getClassLoader()
                    .loadClass("org.bouncycastle.jcajce.spec.ContextParameterSpec").getConstructor(byte[].class);
            MlDsa scheme = new MlDsa(provider, List.of("seed", "sk"), true,
                    bytes -> (AlgorithmParameterSpec) context.newInstance(bytes));
            // The older version is here for those who compare with what was published of it.
            String name = jar.getFileName().toString().contains("-1.83.") ? "bouncycastle-1.83" : "bouncycastle";
            add(name, provider.getVersionStr(), null, scheme, JIT, CALLS + SEEDED);
        }
    }

    private void ownProvider() {
        Provider[] own = Security.getProviders("Signature.ML-DSA");
        if (own == null) {
            System.err.println("worker " + worker + ": this Java has no ML-DSA of its own");
            return;
        }
        List<String> forms = MlDsa.readsSeeds(own[0]) ? List.of("seed", "sk") : List.of("sk");
        add("jdk", System.getProperty("java.runtime.version"), null, new MlDsa(own[0], forms, true, null), JIT,
                "its provider " + own[0].getName() + "; " + CALLS + SEEDED);
    }

    private void corretto() throws Exception {
        Provider provider = load(one("AmazonCorrettoCryptoProvider-*-" + platform() + ".jar"),
                "com.amazon.corretto.crypto.provider.AmazonCorrettoCryptoProvider");
        add("accp", provider.getVersionStr(), "C", new MlDsa(provider, List.of("seed", "sk"), false, null),
                JIT_OF_CALLS, provider.getInfo() + "; " + CALLS + HEDGED);
    }

    private void conscrypt() throws Exception {
        Provider provider = load(one("conscrypt-openjdk-uber-*.jar"), "org.conscrypt.OpenSSLProvider");
        Object version = provider.getClass().getClassLoader().loadClass("org.conscrypt.Conscrypt")
                .getMethod("version").invoke(null);
        List<String> parts = new ArrayList<>();
        for (String part : List.of("major", "minor", "patch")) {
            parts.add(version.getClass().getMethod(part).invoke(version).toString());
        }
        add("conscrypt", String.join(".", parts), "C++", new MlDsa(provider, List.of("seed"), false, null),
                JIT_OF_CALLS, "BoringSSL, whose private key object keeps NTT forms; " + CALLS + HEDGED);
    }

    /** `language` is null where it is Java. */
    private void add(String name, String version, String language, MlDsa scheme, long warmup, String note) {
        if (scheme.sets().isEmpty()) {
            throw new IllegalStateException("the provider has no ML-DSA here");
        }
        String backend = (name.startsWith("bouncycastle") ? "portable+" : "native+") + worker;
        found.add(new Variant(name, version, language, backend, "compact", "ml-dsa", scheme.sets(),
                scheme.operations(), scheme.rnd(), scheme.takesContexts(), scheme.privateKeys(), warmup, note, scheme));
    }

    /** In a class loader of its own, so that two versions of a provider live side by side. */
    @SuppressWarnings("resource") // it stays open for as long as the provider is used
    private static Provider load(Path jar, String name) throws Exception {
        URLClassLoader loader = new URLClassLoader(
                new URL[] {jar.toUri().toURL()}, ClassLoader.getPlatformClassLoader());
        return (Provider) loader.loadClass(name).getConstructor().newInstance();
    }

    private static String platform() {
        String system = System.getProperty("os.name").startsWith("Mac") ? "osx" : "linux";
        return system + (System.getProperty("os.arch").equals("aarch64") ? "-aarch_64" : "-x86_64");
    }

    private List<Path> list(String pattern) throws IOException {
        List<Path> found = new ArrayList<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(jars, pattern)) {
            files.forEach(found::add);
        }
        if (found.isEmpty()) {
            throw new IOException("no " + pattern + " in " + jars);
        }
        Collections.sort(found);
        return found;
    }

    private Path one(String pattern) throws IOException {
        List<Path> found = list(pattern);
        if (found.size() > 1) {
            throw new IOException("more than one " + pattern + " in " + jars);
        }
        return found.get(0);
    }
}
