/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for libraries of which Debian has no archive for a static link: libnats, what libcurl
 * needs, p11-kit below GnuTLS, which libmicrohttpd refers to, and libeu below the libelf of Debian
 * 13. TLS fails then; serve and fleet say so before.
 */
#include <stdlib.h>

struct link_options;

int bus_run(int sock, const struct link_options *o);

int bus_run(int sock, const struct link_options *o)
{
	return 1;
}

void *(*gnutls_malloc)(size_t) = malloc;

#define HARMLESS(name)    \
	int name(void);   \
	int name(void)    \
	{                 \
		return 0; \
	}
#define FAILS(name)        \
	int name(void);    \
	int name(void)     \
	{                  \
		return -1; \
	}

/* What asks servers and nodes ends before it calls these. */
FAILS(http_client_run)
FAILS(bus_pack)
HARMLESS(bus_unpack)
HARMLESS(bus_url_shown)

/* Of elf_getdata_rawchunk, which neither libbpf nor sysflame calls, and which fails then. */
HARMLESS(eu_search_tree_init)
HARMLESS(eu_search_tree_fini)
HARMLESS(eu_tsearch)
HARMLESS(eu_tdelete)

HARMLESS(gnutls_global_init) /* libmicrohttpd calls both always */
HARMLESS(gnutls_global_deinit)
FAILS(gnutls_alpn_set_protocols)
FAILS(gnutls_bye)
FAILS(gnutls_certificate_allocate_credentials)
FAILS(gnutls_certificate_free_credentials)
FAILS(gnutls_certificate_server_set_request)
FAILS(gnutls_certificate_set_dh_params)
FAILS(gnutls_certificate_set_retrieve_function2)
FAILS(gnutls_certificate_set_retrieve_function3)
FAILS(gnutls_certificate_set_x509_key_mem)
FAILS(gnutls_certificate_set_x509_key_mem2)
FAILS(gnutls_certificate_set_x509_trust_mem)
FAILS(gnutls_cipher_get)
FAILS(gnutls_credentials_set)
FAILS(gnutls_deinit)
FAILS(gnutls_dh_params_deinit)
FAILS(gnutls_dh_params_import_pkcs3)
FAILS(gnutls_dh_params_init)
FAILS(gnutls_handshake)
FAILS(gnutls_init)
FAILS(gnutls_priority_deinit)
FAILS(gnutls_priority_init)
FAILS(gnutls_priority_set)
FAILS(gnutls_protocol_get_version)
FAILS(gnutls_psk_allocate_server_credentials)
FAILS(gnutls_psk_free_server_credentials)
FAILS(gnutls_psk_set_server_credentials_function)
FAILS(gnutls_priority_init2)
FAILS(gnutls_record_check_pending)
FAILS(gnutls_record_get_direction)
FAILS(gnutls_record_recv)
FAILS(gnutls_record_send)
FAILS(gnutls_session_get_ptr)
FAILS(gnutls_session_set_ptr)
FAILS(gnutls_strerror)
FAILS(gnutls_transport_set_int2)
