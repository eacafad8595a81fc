#include "transport/tls/revocations.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "transport/detail/system_error.hpp"

namespace ob::transport::tls {

template <>
void Free<BIO>::operator()(BIO* object) const noexcept {
  OpenSsl::get().BIO_free(object);
}
template <>
void Free<X509>::operator()(X509* object) const noexcept {
  OpenSsl::get().X509_free(object);
}
template <>
void Free<X509_CRL>::operator()(X509_CRL* object) const noexcept {
  OpenSsl::get().X509_CRL_free(object);
}
template <>
void Free<X509_STORE>::operator()(X509_STORE* object) const noexcept {
  OpenSsl::get().X509_STORE_free(object);
}
template <>
void Free<ASN1_INTEGER>::operator()(ASN1_INTEGER* object) const noexcept {
  OpenSsl::get().ASN1_INTEGER_free(object);
}

namespace {

// A list of 100,000 members has 4 MB.
constexpr std::size_t kMostListBytes = 64 << 20;

// OpenSSL would ask the terminal for the passphrase of an encrypted file.
int no_passphrase(char*, int, int, void*) { return -1; }

Owned<BIO> reader_of(const std::string& text) {
  return Owned<BIO>(OpenSsl::get().BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::int64_t number_of(const X509_CRL* list) {
  const OpenSsl& ssl = OpenSsl::get();
  const Owned<ASN1_INTEGER> number(
      static_cast<ASN1_INTEGER*>(ssl.X509_CRL_get_ext_d2i(list, NID_crl_number, nullptr, nullptr)));
  std::int64_t value = 0;
  if (number) ssl.ASN1_INTEGER_get_int64(&value, number.get());
  return value;
}

// Reads a whole file. A missing file is an empty text without failure.
Status read_file(const std::string& path, bool& present, std::string& text) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  present = fd >= 0 || errno != ENOENT;
  if (!present) return {};
  if (fd < 0) return detail::system_error(Code::unavailable, "cannot read " + path, errno);
  struct stat about {};
  Status status;
  if (::fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) {
    status = Status(Code::unavailable, "cannot read " + path + " (it is no regular file)");
  }
  char block[1 << 14];
  ssize_t count = 0;
  while (status.ok() && text.size() < kMostListBytes &&
         (count = ::read(fd, block, sizeof block)) > 0) {
    text.append(block, static_cast<std::size_t>(count));
  }
  if (count < 0) status = detail::system_error(Code::unavailable, "cannot read " + path, errno);
  ::close(fd);
  return status;
}

}  // namespace

// --- a list --------------------------------------------------------------------------------------

RevocationList::RevocationList(Owned<X509_CRL> list, Owned<X509_STORE> store)
    : list_(std::move(list)), store_(std::move(store)), number_(number_of(list_.get())) {}

Result<std::shared_ptr<const RevocationList>> RevocationList::create(X509* pool,
                                                                     const std::string& pem) {
  const OpenSsl& ssl = OpenSsl::get();
  const ErrorScope errors;
  const Owned<BIO> reader = reader_of(pem);
  Owned<X509_CRL> list(
      reader ? ssl.PEM_read_bio_X509_CRL(reader.get(), nullptr, no_passphrase, nullptr) : nullptr);
  if (!list) {
    return Status(Code::invalid_argument, "is no list of revoked members (" + errors.reason() +
                                              ") copy pool.crl from the pool's folder again");
  }
  if (ssl.X509_CRL_verify(list.get(), ssl.X509_get0_pubkey(pool)) != 1) {
    return Status(Code::invalid_argument,
                  "was not signed by the pool whose pool.pem lies beside it (" + errors.reason() +
                      ") copy pool.crl from this pool's folder");
  }
  Owned<X509_STORE> store(ssl.X509_STORE_new());
  if (!store || ssl.X509_STORE_add_cert(store.get(), pool) != 1 ||
      ssl.X509_STORE_add_crl(store.get(), list.get()) != 1 ||
      ssl.X509_STORE_set_flags(store.get(), X509_V_FLAG_CRL_CHECK) != 1) {
    return Status(Code::out_of_memory, "cannot be used (no memory)");
  }
  return std::shared_ptr<const RevocationList>(
      new RevocationList(std::move(list), std::move(store)));
}

void RevocationList::check(SSL* session) const noexcept {
  OpenSsl::get().SSL_ctrl(session, SSL_CTRL_SET_VERIFY_CERT_STORE, 1, store_.get());
}

bool RevocationList::revokes(X509* certificate) const noexcept {
  X509_REVOKED* entry = nullptr;
  return OpenSsl::get().X509_CRL_get0_by_cert(list_.get(), &entry, certificate) == 1;
}

// --- the file ------------------------------------------------------------------------------------

RevocationFile::RevocationFile(std::string path, Owned<X509> pool)
    : path_(std::move(path)), pool_(std::move(pool)) {}

Result<std::shared_ptr<RevocationFile>> RevocationFile::open(const std::string& folder) {
  const std::string pool_path = folder + "/pool.pem";
  bool present = false;
  std::string pem;
  OB_RETURN_IF_ERROR(read_file(pool_path, present, pem));
  const ErrorScope errors;
  const Owned<BIO> reader = reader_of(pem);
  Owned<X509> pool(
      reader ? OpenSsl::get().PEM_read_bio_X509(reader.get(), nullptr, no_passphrase, nullptr)
             : nullptr);
  if (!pool) {
    return Status(Code::invalid_argument, "cannot use " + pool_path + " (" + errors.reason() + ")");
  }
  std::shared_ptr<RevocationFile> file(new RevocationFile(folder + "/pool.crl", std::move(pool)));
  OB_RETURN_IF_ERROR(file->reload().status());
  return file;
}

Result<bool> RevocationFile::reload() {
  Contents contents;
  contents.failure = read_file(path_, contents.present, contents.text);
  const std::lock_guard lock(mutex_);
  const bool unchanged = contents.present == seen_.present && contents.text == seen_.text &&
                         contents.failure.message() == seen_.failure.message();
  if (unchanged) return false;
  seen_ = std::move(contents);
  return take(seen_);
}

// mutex_ is held.
Result<bool> RevocationFile::take(const Contents& contents) {
  OB_RETURN_IF_ERROR(contents.failure);
  if (!contents.present) {
    return Status(Code::unavailable, path_ +
                                         " is gone (the list that was read before stays in "
                                         "force until the end of the process)");
  }
  auto list = RevocationList::create(pool_.get(), contents.text);
  if (!list.ok()) return Status(list.status().code(), path_ + " " + list.status().message());
  if (current_ && (*list)->number() < current_->number()) {
    return Status(Code::invalid_argument, path_ + " is older than the list in force (number " +
                                              std::to_string((*list)->number()) + ", in force is " +
                                              std::to_string(current_->number()) + ")");
  }
  current_ = std::move(*list);
  return true;
}

std::shared_ptr<const RevocationList> RevocationFile::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

}  // namespace ob::transport::tls
