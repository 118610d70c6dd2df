import Strata

/// Everything that is looked for in a store whose writers were killed.
public struct StoredState {
  /// By worker.
  public private(set) var lastSaves: [Int: Int] = [:]
  /// By worker and place, the save that filled the place.
  public private(set) var stamps: [Int: [Int: Int]] = [:]
  /// By worker, entries whose values are not those of their place and save.
  public private(set) var brokenEntries: [Int: [String]] = [:]
  public private(set) var entryCount = 0

  /// Reads the store. On the context's queue.
  public init(_ context: ManagedObjectContext) throws {
    for journal in try context.fetch(FetchRequest<Journal>(entityName: "Journal")) {
      lastSaves[journal.worker] = journal.lastSave
    }
    for entry in try context.fetch(FetchRequest<Entry>(entityName: "Entry")) {
      entryCount += 1
      if !entry.isWhole { brokenEntries[entry.worker, default: []].append("\(entry)") }
      stamps[entry.worker, default: [:]][entry.place] = entry.stamp
    }
  }

  /// Where the worker continues.
  public func plan(_ worker: Int) -> WorkerPlan {
    WorkerPlan(worker: worker, lastSave: lastSaves[worker] ?? 0, stamps: stamps[worker] ?? [:])
  }
}
