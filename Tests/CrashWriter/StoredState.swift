import Strata

/// Everything the crash tests look for in a store.
struct StoredState {
  /// By worker.
  private(set) var lastSaves: [Int: Int] = [:]
  /// By worker and place, the save that filled the place.
  private(set) var stamps: [Int: [Int: Int]] = [:]
  /// Entries whose values are not those of their place and save.
  private(set) var brokenEntries: [String] = []
  private(set) var entryCount = 0

  /// Reads the store. On the context's queue.
  init(_ context: ManagedObjectContext) throws {
    for journal in try context.fetch(FetchRequest<Journal>(entityName: "Journal")) {
      lastSaves[journal.worker] = journal.lastSave
    }
    for entry in try context.fetch(FetchRequest<Entry>(entityName: "Entry")) {
      entryCount += 1
      if !entry.isWhole { brokenEntries.append("\(entry)") }
      stamps[entry.worker, default: [:]][entry.place] = entry.stamp
    }
  }

  /// Where the worker goes on.
  func plan(_ worker: Int) -> WorkerPlan {
    WorkerPlan(worker: worker, lastSave: lastSaves[worker] ?? 0, stamps: stamps[worker] ?? [:])
  }
}
