import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.Provider;
import java.security.SecureRandom;
import java.security.spec.NamedParameterSpec;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;

/** What a provider's schemes have in common: their sets, keys and randomness. */
abstract class Jca implements Variant.Scheme {
    private static final byte[] NOTHING = {};

    protected final Provider provider;
    private final List<String> forms;
    private final boolean givenRandom;

    /**
     * @param forms       the private key forms that it reads, the one to take first in front
     * @param givenRandom whether it draws seeds and rnd from the SecureRandom that it is handed
     */
    Jca(Provider provider, List<String> forms, boolean givenRandom) {
        this.provider = provider;
        this.forms = forms;
        this.givenRandom = givenRandom;
    }

    List<String> privateKeys() {
        return forms;
    }

    boolean givenRandom() {
        return givenRandom;
    }

    boolean takesContexts() {
        return false;
    }

    /** Whether the provider has the set. */
    boolean has(ParameterSet set) {
        return provider.getService("KeyFactory", set.service()) != null;
    }

    protected Variant.Operation keygen(ParameterSet set, byte[] seed) throws GeneralSecurityException {
        KeyPairGenerator generator = KeyPairGenerator.getInstance(set.service(), provider);
        generator.initialize(
                new NamedParameterSpec(set.service()), new Given(Keys.exactly(set.seedBytes(), seed, "seed")));
        return new Variant.Operation() {
            private KeyPair last;

            @Override
            public byte[] run() {
                last = generator.generateKeyPair();
                return Keys.encoded(last.getPublic(), set);
            }

            @Override
            public byte[] privateKey() {
                return Keys.encoded(last.getPrivate(), set);
            }
        };
    }

    /** Finding the object by which a set's operations are called. */
    protected static Variant.Operation lookup(Callable<?> instance) {
        return new Variant.Operation() {
            private Object last;

            @Override
            public byte[] run() throws Exception {
                last = instance.call();
                return NOTHING;
            }

            @Override
            public byte[] whole(byte[] given) {
                Objects.requireNonNull(last); // read somewhere, so that it is not compiled away
                return given;
            }
        };
    }

    protected PrivateKey privateKey(ParameterSet set, Map<String, byte[]> in) throws GeneralSecurityException {
        String form = forms.stream().filter(in::containsKey).findFirst()
                .orElseThrow(() -> new InvalidKeyException("no private key of a form that can be read"));
        return Keys.privateKey(provider, set, form, in.get(form));
    }

    /** The source of rnd; null where the provider has to draw its own, or draws none. */
    protected SecureRandom random(ParameterSet set, byte[] rnd) throws GeneralSecurityException {
        if ((rnd != null) != givenRandom) {
            throw new IllegalArgumentException(
                    givenRandom ? "no rnd is given" : "draws its own rnd: none may be given");
        }
        // Deterministic SLH-DSA takes PK.seed in place of opt_rand.
        boolean own = rnd == null || rnd.length == 0 && set.family().equals("slh-dsa");
        return own ? null : new Given(Keys.exactly(set.rndBytes(), rnd, "rnd"));
    }

    /** Some name a service after each parameter set, others but one for all. */
    protected static String service(Provider provider, String type, ParameterSet set) {
        return provider.getService(type, set.service()) != null ? set.service() : set.familyService();
    }
}
