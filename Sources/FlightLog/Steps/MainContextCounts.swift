import Strata

/// Counts all flights again and again on the main context, while other contexts write.
@MainActor
struct MainContextCounts {
  private let context: ManagedObjectContext
  private(set) var times = 0
  private(set) var last = 0
  private(set) var slowest = Duration.zero
  /// How often a count was smaller than the one before it.
  private(set) var setbacks = 0

  init(_ context: ManagedObjectContext) {
    self.context = context
  }

  mutating func count() throws {
    let start = ContinuousClock.now
    let count = try context.count(for: FetchRequest<Flight>(entityName: "Flight"))
    slowest = max(slowest, ContinuousClock.now - start)
    if count < last { setbacks += 1 }
    last = count
    times += 1
  }
}
