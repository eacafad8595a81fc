#include "overlap/halo.hpp"

#include "overlap/mpi_calls.hpp"

namespace ob::overlap {
namespace {

/// The grid of a Cartesian communicator, and the place of this rank.
struct Grid {
  MPI_Comm comm = MPI_COMM_NULL;
  std::array<int, kDims> sizes{1, 1, 1, 1};
  std::array<int, kDims> periodic{};
  std::array<int, kDims> place{};

  /// Returns the rank of the neighbour, or MPI_PROC_NULL.
  int neighbour(const Direction& direction, int dims) const {
    std::array<int, kDims> at{};
    for (int d = 0; d < dims; ++d) {
      at[d] = place[d] + direction[d];
      const bool outside = at[d] < 0 || at[d] >= sizes[d];
      if (outside && periodic[d] == 0) return MPI_PROC_NULL;
    }
    int rank = MPI_PROC_NULL;
    MPI_Cart_rank(comm, at.data(), &rank);
    return rank;
  }
};

Result<Grid> grid_of(MPI_Comm cart, int dims) {
  int kind = MPI_UNDEFINED;
  MPI_Topo_test(cart, &kind);
  int grid_dims = 0;
  if (kind == MPI_CART) MPI_Cartdim_get(cart, &grid_dims);
  if (grid_dims != dims)
    return Status(Code::invalid_argument,
                  "a halo plan of " + std::to_string(dims) +
                      " dimensions needs a Cartesian communicator of as many (it has " +
                      std::to_string(grid_dims) + ") make it with MPI_Cart_create");
  Grid grid;
  grid.comm = cart;
  MPI_Cart_get(cart, dims, grid.sizes.data(), grid.periodic.data(), grid.place.data());
  return grid;
}

/// Adds the message to or from `peer` to a plan, unless the mask leaves no cell of it. Then `box`
/// becomes empty.
class MessageMaker {
 public:
  MessageMaker(MovePlan& plan, int dims, const std::vector<FieldView>& fields,
               const FieldView* mask)
      : plan_(plan), dims_(dims), fields_(fields), mask_(mask) {}

  void add(Box& box, int peer, int tag, bool sends) {
    if (box.empty()) return;
    Message message;
    message.sends = sends;
    message.peer = peer;
    message.tag = tag;
    message.box = box;
    message.name = to_string(box, dims_);
    for (const FieldView& field : fields_) message.regions.emplace_back(field, box, mask_);
    if (message.bytes() == 0)
      box.high = box.low;
    else
      plan_.described().push_back(std::move(message));
  }

 private:
  MovePlan& plan_;
  const int dims_;
  const std::vector<FieldView>& fields_;
  const FieldView* const mask_;
};

}  // namespace

Status describe_halo(MovePlan& plan, MPI_Comm cart, const HaloShape& shape, const Stencil& stencil,
                     const std::vector<FieldView>& fields, const FieldView* mask) {
  if (fields.empty()) return Status(Code::invalid_argument, "a halo plan without fields");
  OB_ASSIGN_OR_RETURN(const Grid grid, grid_of(cart, shape.dims));
  OB_ASSIGN_OR_RETURN(const HaloGeometry geometry, HaloGeometry::create(shape, stencil));
  MessageMaker messages(plan, shape.dims, fields, mask);
  std::vector<HaloFace> used;
  for (HaloFace face : geometry.faces()) {
    const int peer = grid.neighbour(face.direction, shape.dims);
    if (peer == MPI_PROC_NULL) continue;
    // A message has the tag of its direction, seen from the sender. So two messages between the
    // same ranks, as in a periodic dimension of two ranks, have different tags.
    const int tag = direction_tag(face.direction);
    const int opposite_tag = direction_tag(opposite(face.direction));
    messages.add(face.send, peer, tag, true);
    messages.add(face.receive, peer, opposite_tag, false);
    used.push_back(face);
  }
  MovePlan::Cells cells;
  cells.interior = geometry.interior(used);
  cells.boundary = subtract(geometry.owned(), cells.interior);
  plan.cells = std::move(cells);
  return {};
}

}  // namespace ob::overlap
