import SwiftData

/// A place whose context belongs to an actor.
@ModelActor
actor Worker {
  private var place: Place?

  func apply(_ step: Step, seed: UInt64) throws {
    let place = place ?? Place(modelContext, seed: seed)
    self.place = place
    try place.apply(step)
  }
}

/// Where a step is done.
enum Location {
  case here(Place)
  case actor(Worker, seed: UInt64)

  func apply(_ step: Step) async throws {
    switch self {
    case .here(let place): try place.apply(step)
    case .actor(let worker, let seed): try await worker.apply(step, seed: seed)
    }
  }
}
