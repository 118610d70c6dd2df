import Foundation
import Strata

extension PersistentStoreDescription {
  /// A store to be measured. `STRATA_BENCH_LOG=0` or `1` says whether it keeps a log of small saves, so that one build can be measured both ways; without it
  /// the library's default counts.
  static func measured(_ url: URL) -> PersistentStoreDescription {
    var description = PersistentStoreDescription(url: url)
    if let choice = ProcessInfo.processInfo.environment["STRATA_BENCH_LOG"] {
      description.keepsLog = choice != "0"
    }
    return description
  }
}
