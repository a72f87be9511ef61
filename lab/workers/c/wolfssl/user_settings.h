/* What `configure --enable-mldsa --enable-mlkem --enable-intelasm` settles, less what the adapters do not
 * call: protocols, DER, random numbers and other algorithms. */
#define WOLFCRYPT_ONLY
#define WOLFSSL_HAVE_MLDSA
#define WOLFSSL_HAVE_MLKEM
#define WOLFSSL_SHA3
#define WOLFSSL_SHAKE128
#define WOLFSSL_SHAKE256
#if defined(__x86_64__)
#define WOLFSSL_X86_64_BUILD
#define USE_INTEL_SPEEDUP
#endif
/* --enable-harden, its default */
#define TFM_TIMING_RESISTANT
#define ECC_TIMING_RESISTANT
#define WC_RSA_BLINDING

#define WOLFSSL_MLDSA_NO_ASN1
#define WC_NO_RNG
#define WC_NO_HASHDRBG
#define NO_FILESYSTEM
#define NO_ASN
#define NO_AES
#define NO_DES3
#define NO_DH
#define NO_DSA
#define NO_MD4
#define NO_MD5
#define NO_PWDBASED
#define NO_RC4
#define NO_RSA
#define NO_SHA
#define NO_SHA256
