package hub

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
)

// The server of rank 0 encrypts its connections. Its key follows from the token of the run,
// which all ranks have, so that the others can verify the server without an
// authority for certificates, with the token alone.

// errOther is the error of a server with the key of another token.
var errOther = errors.New("the server there is not rank 0 of this run: it has another token")

// keyOf returns the key of the server with a token.
func keyOf(token string) (ed25519.PrivateKey, error) {
	seed, err := hkdf.Key(sha256.New, []byte(token), nil, "pianola-ranks server", ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("derive a key from the token: %w", err)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// serverTLS returns the configuration of the server with a token.
func serverTLS(token string) (*tls.Config, error) {
	key, err := keyOf(token)
	if err != nil {
		return nil, err
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1)}
	certificate, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}},
	}, nil
}

// clientTLS returns the configuration of a client of that server. It refuses other servers.
func clientTLS(token string) (*tls.Config, error) {
	key, err := keyOf(token)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // VerifyConnection compares the key instead
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) > 0 && key.Public().(ed25519.PublicKey).Equal(s.PeerCertificates[0].PublicKey) {
				return nil
			}
			return errOther
		},
	}, nil
}
