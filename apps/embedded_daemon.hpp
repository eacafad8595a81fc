#pragma once
// The daemon of one command on this machine.

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/fd.hpp"
#include "private_folder.hpp"
#include "signals_held.hpp"

namespace ob::apps {

/// Returns false if a daemon on this machine would compute on its processor: the kernel knows no
/// NVIDIA device, and no other graphics device that a driver of OpenCL could use.
bool may_have_accelerator();

/// Listens on a socket in a private folder for one outboardd, and starts it when the first client
/// connects. A command without a call that is worth a connection starts none.
class EmbeddedDaemon {
 public:
  /// program   path of outboardd      options   more options for it
  /// quiet     true: its failures are not reported
  /// Throws: std::system_error if it cannot listen
  EmbeddedDaemon(std::string program, const std::vector<std::string>& options,
                 const PrivateFolder& folder, const SignalsHeld& signals, bool quiet);
  /// Asks the daemon to drain, kills it if it does not, and waits for its end.
  ~EmbeddedDaemon();
  EmbeddedDaemon(const EmbeddedDaemon&) = delete;
  EmbeddedDaemon& operator=(const EmbeddedDaemon&) = delete;

  std::string address() const { return "unix:" + path_; }
  /// Returns the socket on which a client may wait for the daemon; -1 if none waits any more.
  int waiting_clients() const { return socket_.get(); }
  /// Starts the daemon with the socket. If it does not live, the kernel refuses the clients,
  /// because nobody else has the socket.
  void start();
  /// Reports once that the daemon has ended although nobody stopped it.
  void report_end();

 private:
  void report(const std::string& what) const;

  std::string path_, log_, output_;
  std::vector<std::string> command_;
  const SignalsHeld& signals_;
  bool quiet_;
  Fd socket_;
  pid_t process_ = -1;
};

}  // namespace ob::apps
