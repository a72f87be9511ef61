import java.security.PrivateKey;
import java.security.Provider;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** ML-KEM by a provider of the Java Cryptography Architecture. */
final class Kem extends Jca {
    private final Calls calls;

    /** What was encapsulated: the ciphertext and the secret in it. */
    record Encapsulated(byte[] ciphertext, byte[] secret) {}

    /** A call of a prepared encapsulation. */
    interface Encapsulation {
        Encapsulated run() throws Exception;
    }

    /** A call of a prepared decapsulation, to the secret. */
    interface Decapsulation {
        byte[] run(byte[] ciphertext) throws Exception;
    }

    /** The interface by which a KEM is called. `service` is the name of it, `random` null for the provider's own. */
    interface Calls {
        Encapsulation encapsulation(String service, PublicKey key, SecureRandom random) throws Exception;

        Decapsulation decapsulation(String service, PrivateKey key) throws Exception;

        /** The object by which the service is called. */
        Object instance(String service) throws Exception;

        /** The type of its services. */
        String type();

        /** Whether every provider called so refuses a ciphertext of a wrong length. */
        boolean checksLength();
    }

    Kem(Provider provider, List<String> forms, boolean givenRandom, Calls calls) {
        super(provider, forms, givenRandom);
        this.calls = calls;
    }

    /** Whether it refuses an encoded private key whose hash is not that of its public key, as FIPS 203, 7.3, has it. */
    static boolean checksHash(Provider provider, Calls calls) {
        ParameterSet set = ParameterSet.named("ML-KEM-512");
        try {
            PrivateKey zeros = Keys.privateKey(provider, set, "sk", new byte[set.skBytes()]);
            calls.decapsulation(service(provider, calls.type(), set), zeros);
            return false;
        } catch (Exception error) {
            return true;
        }
    }

    @Override
    public Variant.Operation prepare(String name, String operation, Map<String, byte[]> in) throws Exception {
        ParameterSet set = ParameterSet.named(name);
        return switch (operation) {
            case "keygen" -> keygen(set, in.get("seed"));
            case "encaps" -> encaps(set, in);
            case "decaps" -> decaps(set, in);
            case "lookup" -> lookup(() -> calls.instance(service(provider, calls.type(), set)));
            default -> throw new IllegalArgumentException("no operation " + operation);
        };
    }

    private Variant.Operation encaps(ParameterSet set, Map<String, byte[]> in) throws Exception {
        PublicKey key = Keys.publicKey(provider, set, in.get("pk"));
        Encapsulation call =
                calls.encapsulation(service(provider, calls.type(), set), key, random(set, in.get("rnd")));
        return new Variant.Operation() {
            private byte[] secret;

            @Override
            public byte[] run() throws Exception {
                Encapsulated made = call.run();
                secret = made.secret;
                return made.ciphertext;
            }

            @Override
            public byte[] whole(byte[] ciphertext) {
                byte[] both = Arrays.copyOf(ciphertext, ciphertext.length + secret.length);
                System.arraycopy(secret, 0, both, ciphertext.length, secret.length);
                return both;
            }
        };
    }

    private Variant.Operation decaps(ParameterSet set, Map<String, byte[]> in) throws Exception {
        byte[] ciphertext = in.get("ciphertext");
        if (!calls.checksLength()) {
            Keys.exactly(set.ciphertextBytes(), ciphertext, "ciphertext");
        }
        Decapsulation call = calls.decapsulation(service(provider, calls.type(), set), privateKey(set, in));
        return () -> call.run(ciphertext);
    }
}
