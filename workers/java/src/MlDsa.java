import java.io.ByteArrayOutputStream;
import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.Provider;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.security.Signature;
import java.security.spec.AlgorithmParameterSpec;
import java.security.spec.NamedParameterSpec;
import java.security.spec.PKCS8EncodedKeySpec;
import java.security.spec.X509EncodedKeySpec;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** ML-DSA by a provider of the Java Cryptography Architecture. */
final class MlDsa implements Variant.Scheme {
    /** A parameter set: the last byte of its object identifier, 2.16.840.1.101.3.4.3.x, and its sizes in bytes. */
    private record Parameters(int oid, int pkBytes, int skBytes) {}

    private static final Map<String, Parameters> SETS = Map.of(
            "ML-DSA-44", new Parameters(17, 1312, 2560),
            "ML-DSA-65", new Parameters(18, 1952, 4032),
            "ML-DSA-87", new Parameters(19, 2592, 4896));
    private static final int RANDOM_BYTES = 32; // ξ and rnd
    private static final int CONTEXT_BYTES_MAX = 255;
    private static final byte[] REFUSED = {0};
    private static final byte[] ACCEPTED = {1};

    private final Provider provider;
    private final List<String> forms;
    private final boolean givenRandom;
    private final Contexts contexts;

    /** Makes the parameter object by which a Signature takes a context. */
    interface Contexts {
        AlgorithmParameterSpec of(byte[] context) throws ReflectiveOperationException;
    }

    /**
     * @param forms       the private key forms that it reads, the one to take first in front
     * @param givenRandom whether it draws ξ and rnd from the SecureRandom that it is handed
     * @param contexts    null where it takes none
     */
    MlDsa(Provider provider, List<String> forms, boolean givenRandom, Contexts contexts) {
        this.provider = provider;
        this.forms = forms;
        this.givenRandom = givenRandom;
        this.contexts = contexts;
    }

    /** Those that the provider has. */
    List<String> sets() {
        return SETS.keySet().stream().filter(set -> provider.getService("KeyFactory", set) != null).sorted().toList();
    }

    /** None that starts from a seed where the provider draws its own. */
    List<String> operations() {
        return givenRandom ? List.of("keygen", "sign", "verify") : List.of("sign", "verify");
    }

    String rnd() {
        return givenRandom ? "given" : "none";
    }

    boolean takesContexts() {
        return contexts != null;
    }

    List<String> privateKeys() {
        return forms;
    }

    /** Whether the provider makes private keys from seeds. */
    static boolean readsSeeds(Provider provider) {
        try {
            privateKey(provider, "ML-DSA-44", "seed", new byte[RANDOM_BYTES]);
            return true;
        } catch (GeneralSecurityException error) {
            return false;
        }
    }

    @Override
    public Variant.Operation prepare(String set, String operation, Map<String, byte[]> in) throws Exception {
        return switch (operation) {
            case "keygen" -> keygen(set, in.get("seed"));
            case "sign" -> sign(set, in);
            case "verify" -> verify(set, in);
            default -> throw new IllegalArgumentException("no operation " + operation);
        };
    }

    private Variant.Operation keygen(String set, byte[] seed) throws GeneralSecurityException {
        KeyPairGenerator generator = KeyPairGenerator.getInstance(set, provider);
        generator.initialize(new NamedParameterSpec(set), new Given(seed));
        Parameters p = SETS.get(set);
        return new Variant.Operation() {
            private KeyPair last;

            @Override
            public byte[] run() {
                last = generator.generateKeyPair();
                return tail(last.getPublic().getEncoded(), p.pkBytes);
            }

            @Override
            public byte[] privateKey() {
                // Whether as the expanded key alone or beside the seed, it ends the encoding.
                return tail(last.getPrivate().getEncoded(), p.skBytes);
            }
        };
    }

    private Variant.Operation sign(String set, Map<String, byte[]> in) throws Exception {
        String form = forms.stream().filter(in::containsKey).findFirst()
                .orElseThrow(() -> new InvalidKeyException("no private key of a form that can be read"));
        PrivateKey key = privateKey(provider, set, form, in.get(form));
        AlgorithmParameterSpec context = context(in.get("context"));
        byte[] message = in.get("message");
        if (in.containsKey("rnd") != givenRandom) {
            throw new IllegalArgumentException(givenRandom ? "no rnd is given" : "draws its own rnd: none may be given");
        }
        SecureRandom random = givenRandom ? new Given(in.get("rnd")) : null;
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

    private Variant.Operation verify(String set, Map<String, byte[]> in) {
        byte[] message = in.get("message");
        byte[] given = in.get("signature");
        PublicKey key;
        Signature signature;
        AlgorithmParameterSpec context;
        try {
            Parameters p = SETS.get(set);
            key = KeyFactory.getInstance(set, provider).generatePublic(new X509EncodedKeySpec(
                    der(0x30, algorithm(p), der(0x03, new byte[1], exactly(p.pkBytes, in.get("pk"), "public key")))));
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

    /** Some name a Signature after each parameter set, others but one for all. */
    private Signature signature(String set) throws GeneralSecurityException {
        return Signature.getInstance(provider.getService("Signature", set) != null ? set : "ML-DSA", provider);
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

    /** A private key from its seed or its skEncode bytes, by RFC 9881. */
    private static PrivateKey privateKey(Provider provider, String set, String form, byte[] bytes)
            throws GeneralSecurityException {
        Parameters p = SETS.get(set);
        byte[] choice = form.equals("seed")
                ? der(0x80, exactly(RANDOM_BYTES, bytes, "seed"))
                : der(0x04, exactly(p.skBytes, bytes, "private key"));
        byte[] encoded = der(0x30, new byte[] {2, 1, 0}, algorithm(p), der(0x04, choice));
        return KeyFactory.getInstance(set, provider).generatePrivate(new PKCS8EncodedKeySpec(encoded));
    }

    private static byte[] algorithm(Parameters p) {
        return der(0x30, new byte[] {6, 9, 0x60, (byte) 0x86, 0x48, 1, 0x65, 3, 4, 3, (byte) p.oid});
    }

    /** A DER element of under 64 KiB. */
    private static byte[] der(int tag, byte[]... parts) {
        int size = Arrays.stream(parts).mapToInt(part -> part.length).sum();
        ByteArrayOutputStream out = new ByteArrayOutputStream(size + 4);
        out.write(tag);
        if (size > 0xff) {
            out.write(0x82);
            out.write(size >> 8);
        } else if (size > 0x7f) {
            out.write(0x81);
        }
        out.write(size);
        for (byte[] part : parts) {
            out.writeBytes(part);
        }
        return out.toByteArray();
    }

    private static byte[] exactly(int size, byte[] bytes, String what) throws InvalidKeyException {
        if (bytes.length != size) {
            throw new InvalidKeyException("a " + what + " of " + bytes.length + " bytes, must be " + size);
        }
        return bytes;
    }

    private static byte[] tail(byte[] bytes, int size) {
        return bytes.length < size ? new byte[0] : Arrays.copyOfRange(bytes, bytes.length - size, bytes.length);
    }

    /** Gives the same 32 bytes each time, as ξ or rnd, and nothing to who asks for another number of them. */
    private static final class Given extends SecureRandom {
        private static final long serialVersionUID = 1;
        private final byte[] bytes;

        Given(byte[] bytes) throws InvalidKeyException {
            super(null, null);
            this.bytes = exactly(RANDOM_BYTES, bytes, "seed or rnd");
        }

        @Override
        public void nextBytes(byte[] target) {
            if (target.length != RANDOM_BYTES) {
                throw new IllegalStateException("the provider drew " + target.length + " random bytes, not 32");
            }
            System.arraycopy(bytes, 0, target, 0, RANDOM_BYTES);
        }
    }
}
