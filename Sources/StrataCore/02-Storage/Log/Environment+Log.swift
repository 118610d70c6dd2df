import CLMDBShim
import Foundation

extension Environment {
  /// `flush()` of a store with a log: a checkpoint. Waits for its turn to write.
  ///
  /// - Throws: what `write` throws; ``StorageError`` `.io` when the medium fails.
  func flush(_ log: StoreLog) throws {
    log.wantFlush()
    try write { _ in }
  }

  /// Opens the store again when its pages may not have reached the medium: it is recovered from its log.
  func recoverIfNeeded(until deadline: ContinuousClock.Instant) throws {
    guard log?.reasonToRecover != nil else { return }
    try pool.exclusively(until: deadline) { environment in
      if let environment { discard(environment) }
      return openAgain()
    }
  }
}
