import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.security.Provider;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.security.spec.AlgorithmParameterSpec;
import javax.crypto.KeyGenerator;
import javax.crypto.SecretKey;

/** The interfaces to a KEM, by reflection: classes of one may be missing, of the other are in a jar. */
final class KemCalls {
    private static final String SECRET = "Generic"; // the algorithm that the secret's key object is said to be for
    private static final int SECRET_BITS = 256;

    private KemCalls() {}

    /** javax.crypto.KEM where this Java and the provider have it; else null. */
    static Kem.Calls api(Provider provider) throws ReflectiveOperationException {
        if (provider.getService("KEM", "ML-KEM") == null) {
            return null;
        }
        Class<?> kem = Class.forName("javax.crypto.KEM");
        Method getInstance = kem.getMethod("getInstance", String.class, Provider.class);
        Method encapsulator =
                kem.getMethod("newEncapsulator", PublicKey.class, AlgorithmParameterSpec.class, SecureRandom.class);
        Method decapsulator = kem.getMethod("newDecapsulator", PrivateKey.class);
        Method encapsulate = Class.forName("javax.crypto.KEM$Encapsulator").getMethod("encapsulate");
        Method decapsulate = Class.forName("javax.crypto.KEM$Decapsulator").getMethod("decapsulate", byte[].class);
        Class<?> encapsulated = Class.forName("javax.crypto.KEM$Encapsulated");
        Method secret = encapsulated.getMethod("key");
        Method ciphertext = encapsulated.getMethod("encapsulation");
        return new Kem.Calls() {
            @Override
            public Object instance(String service) throws ReflectiveOperationException {
                return getInstance.invoke(null, service, provider);
            }

            @Override
            public String type() {
                return "KEM";
            }

            @Override
            public boolean checksLength() {
                return true;
            }

            @Override
            public Kem.Encapsulation encapsulation(String service, PublicKey key, SecureRandom random)
                    throws ReflectiveOperationException {
                Object made = encapsulator.invoke(instance(service), key, null, random);
                return () -> {
                    Object both = encapsulate.invoke(made);
                    SecretKey shared = (SecretKey) secret.invoke(both);
                    return new Kem.Encapsulated((byte[]) ciphertext.invoke(both), shared.getEncoded());
                };
            }

            @Override
            public Kem.Decapsulation decapsulation(String service, PrivateKey key) throws ReflectiveOperationException {
                Object made = decapsulator.invoke(instance(service), key);
                return bytes -> ((SecretKey) decapsulate.invoke(made, bytes)).getEncoded();
            }
        };
    }

    /** BouncyCastle's own, for a Java without javax.crypto.KEM. */
    static Kem.Calls keyGenerator(Provider provider) throws ReflectiveOperationException {
        Constructor<?> generate = builder(provider, "KEMGenerateSpec", PublicKey.class, String.class, int.class);
        Constructor<?> extract =
                builder(provider, "KEMExtractSpec", PrivateKey.class, byte[].class, String.class, int.class);
        Method ciphertext =
                load(provider, "org.bouncycastle.jcajce.SecretKeyWithEncapsulation").getMethod("getEncapsulation");
        return new Kem.Calls() {
            @Override
            public KeyGenerator instance(String service) throws GeneralSecurityException {
                return KeyGenerator.getInstance(service, provider);
            }

            @Override
            public String type() {
                return "KeyGenerator";
            }

            @Override
            public boolean checksLength() {
                return false;
            }

            @Override
            public Kem.Encapsulation encapsulation(String service, PublicKey key, SecureRandom random)
                    throws Exception {
                KeyGenerator generator = instance(service);
                generator.init(plain(generate.newInstance(key, SECRET, SECRET_BITS)), random);
                return () -> {
                    SecretKey both = generator.generateKey();
                    return new Kem.Encapsulated((byte[]) ciphertext.invoke(both), both.getEncoded());
                };
            }

            @Override
            public Kem.Decapsulation decapsulation(String service, PrivateKey key) throws Exception {
                KeyGenerator generator = instance(service);
                return bytes -> {
                    generator.init(plain(extract.newInstance(key, bytes, SECRET, SECRET_BITS)));
                    return generator.generateKey().getEncoded();
                };
            }
        };
    }

    private static Constructor<?> builder(Provider provider, String spec, Class<?>... arguments)
            throws ReflectiveOperationException {
        return load(provider, "org.bouncycastle.jcajce.spec." + spec + "$Builder").getConstructor(arguments);
    }

    private static Class<?> load(Provider provider, String name) throws ClassNotFoundException {
        return provider.getClass().getClassLoader().loadClass(name);
    }

    /** What the builder makes for the secret of FIPS 203 itself, with no key derivation after it. */
    private static AlgorithmParameterSpec plain(Object builder) throws ReflectiveOperationException {
        Object without = builder.getClass().getMethod("withNoKdf").invoke(builder);
        return (AlgorithmParameterSpec) without.getClass().getMethod("build").invoke(without);
    }
}
