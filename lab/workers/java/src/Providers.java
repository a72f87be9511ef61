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
    private static final String GC = "default garbage collector";
    private static final String SIGNATURE = "JCA, by one Signature object for each input: initSign or initVerify, "
            + "update, sign or verify in each call; " + GC;
    private static final String KEM_API = "javax.crypto.KEM, whose Encapsulator and Decapsulator are made, and keys "
            + "checked, before the clock, called by reflection; " + GC;
    private static final String KEY_GENERATOR = "JCA's KeyGenerator with KEMGenerateSpec and KEMExtractSpec, as this "
            + "Java has no javax.crypto.KEM for it; a ciphertext's length is checked before the clock, since 1.83 does "
            + "not do so; " + GC;
    private static final String UNCHECKED = "; takes an encoded private key without the check of its hash (FIPS 203, "
            + "section 7.3), so that only seeds are handed to it";
    private static final String SEEDED = "; keygen is KeyPairGenerator, whose SecureRandom gives the seed, and the "
            + "public key's X.509 encoding";
    private static final String HEDGED = "; signs hedged only, and makes no key pair from a seed";
    private static final List<String> SIGNING = List.of("keygen", "sign", "verify");
    private static final List<String> KEM = List.of("keygen", "encaps", "decaps");
    private static final List<String> SEED = List.of("seed");
    private static final List<String> SK = List.of("sk");
    private static final List<String> SEED_OR_SK = List.of("seed", "sk");
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
        providers.attempt("jdk", providers::ownSignatures);
        providers.attempt("jdk-ml-kem", providers::ownKem);
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
            Signatures.Contexts contexts = bytes -> (AlgorithmParameterSpec) context.newInstance(bytes);
            // The older version is here for those who compare with what was published of it.
            String name = jar.getFileName().toString().contains("-1.83.") ? "bouncycastle-1.83" : "bouncycastle";
            Library library = new Library(name, provider.getVersionStr(), null, JIT);
            add(library, "ml-dsa", "compact", SIGNING, SIGNATURE + SEEDED,
                    new Signatures(provider, SEED_OR_SK, true, contexts));
            add(library, "slh-dsa", "compact", SIGNING,
                    SIGNATURE + SEEDED, new Signatures(provider, SK, true, contexts));
            Kem.Calls api = KemCalls.api(provider);
            addKem(library, provider, api == null ? KEY_GENERATOR : KEM_API,
                    api == null ? KemCalls.keyGenerator(provider) : api);
        }
    }

    private void ownSignatures() {
        Provider own = own("Signature.ML-DSA");
        add(ofThisJava(), "ml-dsa", "compact", SIGNING, "its provider " + own.getName() + "; " + SIGNATURE + SEEDED,
                new Signatures(own, forms(own, "ML-DSA-44"), true, null));
    }

    private void ownKem() throws Exception {
        Provider own = own("KEM.ML-KEM");
        addKem(ofThisJava(), own, "its provider " + own.getName() + "; " + KEM_API, KemCalls.api(own));
    }

    /** One that makes key pairs and secrets of given bytes. */
    private void addKem(Library library, Provider provider, String note, Kem.Calls calls) {
        boolean checks = Kem.checksHash(provider, calls);
        List<String> forms = checks ? forms(provider, "ML-KEM-512") : SEED;
        add(library, "ml-kem", "compact", KEM, note + SEEDED + (checks ? "" : UNCHECKED),
                new Kem(provider, forms, true, calls));
    }

    private static Provider own(String service) {
        Provider[] own = Security.getProviders(service);
        if (own == null) {
            throw new IllegalStateException("this Java has no " + service + " of its own");
        }
        return own[0];
    }

    private static Library ofThisJava() {
        return new Library("jdk", System.getProperty("java.runtime.version"), null, JIT);
    }

    private static List<String> forms(Provider provider, String set) {
        return Keys.readsSeeds(provider, ParameterSet.named(set)) ? SEED_OR_SK : SK;
    }

    private void corretto() throws Exception {
        Provider provider = load(one("AmazonCorrettoCryptoProvider-*-" + platform() + ".jar"),
                "com.amazon.corretto.crypto.provider.AmazonCorrettoCryptoProvider");
        add(new Library("accp", provider.getVersionStr(), "C", JIT_OF_CALLS), "ml-dsa", "compact",
                SIGNING.subList(1, 3), provider.getInfo() + "; " + SIGNATURE + HEDGED,
                new Signatures(provider, SEED_OR_SK, false, null));
    }

    private void conscrypt() throws Exception {
        Provider provider = load(one("conscrypt-openjdk-uber-*.jar"), "org.conscrypt.OpenSSLProvider");
        Object version = provider.getClass().getClassLoader().loadClass("org.conscrypt.Conscrypt")
                .getMethod("version").invoke(null);
        List<String> parts = new ArrayList<>();
        for (String part : List.of("major", "minor", "patch")) {
            parts.add(version.getClass().getMethod(part).invoke(version).toString());
        }
        Library library = new Library("conscrypt", String.join(".", parts), "C++", JIT_OF_CALLS);
        Signatures signatures = new Signatures(provider, SEED, false, null);
        add(library, "ml-dsa", "expanded", List.of("sign"), "BoringSSL, whose private key object holds s1, s2 and t0 "
                + "in NTT form, not A-hat; " + SIGNATURE + HEDGED, signatures);
        add(library, "ml-dsa", "compact", List.of("verify"),
                "BoringSSL, whose public key object holds t1 and tr, no NTT forms; " + SIGNATURE, signatures);
    }

    /** `language` is null where it is Java; `warmup` as a variant has it. */
    private record Library(String name, String version, String language, long warmup) {}

    private void add(Library library, String family, String key, List<String> operations, String note, Jca scheme) {
        List<String> sets = ParameterSet.of(family).stream().filter(scheme::has).map(ParameterSet::name).toList();
        if (sets.isEmpty()) {
            throw new IllegalStateException("the provider has no " + family + " here");
        }
        String name = family.equals("ml-dsa") ? library.name : library.name + "-" + family;
        boolean first = found.stream().noneMatch(variant -> variant.implementation().equals(name));
        List<String> all = new ArrayList<>(operations);
        if (first) {
            all.add("lookup"); // which has no key
        }
        String backend = (name.startsWith("bouncycastle") ? "portable+" : "native+") + worker;
        found.add(new Variant(name, library.version, library.language, backend, key, family, sets, all,
                scheme.givenRandom() ? "given" : "none", scheme.takesContexts(), scheme.privateKeys(),
                library.warmup, note, scheme));
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
