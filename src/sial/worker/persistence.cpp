// Objects that outlive their program.

#include "sial/worker/worker.hpp"

namespace ob::sial {

Worker::Step Worker::persistence() {
  return fail("R12 this version does not save or restore objects (set_persistent and "
              "restore_persistent are not there yet); pass values on in the job file");
}

}  // namespace ob::sial
