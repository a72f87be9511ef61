import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.security.Provider;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.security.Signature;
import java.security.spec.AlgorithmParameterSpec;
import java.util.List;
import java.util.Map;

/** ML-DSA and SLH-DSA by a provider of the Java Cryptography Architecture. */
final class Signatures extends Jca {
    private static final int CONTEXT_BYTES_MAX = 255;
    private static final byte[] REFUSED = {0};
    private static final byte[] ACCEPTED = {1};

    private final Contexts contexts;

    /** Makes the parameter object by which a Signature takes a context. */
    interface Contexts {
        AlgorithmParameterSpec of(byte[] context) throws ReflectiveOperationException;
    }

    /** `contexts` is null where it takes none. */
    Signatures(Provider provider, List<String> forms, boolean givenRandom, Contexts contexts) {
        super(provider, forms, givenRandom);
        this.contexts = contexts;
    }

    @Override
    boolean takesContexts() {
        return contexts != null;
    }

    @Override
    public Variant.Operation prepare(String name, String operation, Map<String, byte[]> in) throws Exception {
        ParameterSet set = ParameterSet.named(name);
        return switch (operation) {
            case "keygen" -> keygen(set, in.get("seed"));
            case "sign" -> sign(set, in);
            case "verify" -> verify(set, in);
            case "lookup" -> lookup(() -> signature(set));
            default -> throw new IllegalArgumentException("no operation " + operation);
        };
    }

    private Signature signature(ParameterSet set) throws GeneralSecurityException {
        return Signature.getInstance(service(provider, "Signature", set), provider);
    }

    private Variant.Operation sign(ParameterSet set, Map<String, byte[]> in) throws Exception {
        PrivateKey key = privateKey(set, in);
        AlgorithmParameterSpec context = context(in.get("context"));
        byte[] message = in.get("message");
        SecureRandom random = random(set, in.get("rnd"));
        Signature signature = signature(set);
        return () -> {
            if (random == null) {
                signature.initSign(key);
            } else {
                signature.initSign(key, random);
            }
            if (context != null) {
                signature.setParameter(context);
            }
            signature.update(message);
            return signature.sign();
        };
    }

    private Variant.Operation verify(ParameterSet set, Map<String, byte[]> in) {
        byte[] message = in.get("message");
        byte[] given = in.get("signature");
        PublicKey key;
        Signature signature;
        AlgorithmParameterSpec context;
        try {
            key = Keys.publicKey(provider, set, in.get("pk"));
            signature = signature(set);
            context = context(in.get("context"));
        } catch (Exception error) {
            return () -> REFUSED;
        }
        return () -> {
            try {
                signature.initVerify(key);
                if (context != null) {
                    signature.setParameter(context);
                }
                signature.update(message);
                return signature.verify(given) ? ACCEPTED : REFUSED;
            } catch (GeneralSecurityException error) {
                return REFUSED;
            }
        };
    }

    /** The parameter of a context, null for the empty one. */
    private AlgorithmParameterSpec context(byte[] context) throws ReflectiveOperationException {
        if (context.length == 0) {
            return null;
        }
        if (contexts == null || context.length > CONTEXT_BYTES_MAX) {
            throw new IllegalArgumentException("a context of " + context.length + " bytes cannot be used");
        }
        return contexts.of(context);
    }
}
