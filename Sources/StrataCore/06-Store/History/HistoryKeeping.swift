import Foundation
import Synchronization

/// How long a store keeps what its history tells.
///
/// A consumer is a reader of the history with a name, such as a widget. It says how far it has read with
/// `PersistentStoreCoordinator.setHistoryConsumer(named:to:)`. The store remembers that across launches, for all processes.
public struct HistoryRetention: Sendable, Hashable {
  /// What is older than this goes, whether it was read or not. Nil for no limit.
  public var maximumAge: Duration?
  /// Whether what all named consumers have seen goes at once. It stays while there is no consumer.
  public var dropsConsumed: Bool

  /// Keeps what is younger than `maximumAge`, 30 days by default; with `dropsConsumed` only until every named consumer has seen it.
  public init(maximumAge: Duration? = .seconds(30 * 86_400), dropsConsumed: Bool = false) {
    self.maximumAge = maximumAge
    self.dropsConsumed = dropsConsumed
  }

  /// Keeps everything until it is deleted.
  public static let forever = HistoryRetention(maximumAge: nil)
}

/// What an open store needs to record a history, besides the keyspace.
package final class HistoryKeeping: Sendable {
  package let retention: HistoryRetention
  /// Tells the time.
  package let clock: @Sendable () -> Date
  /// By entity number: the slots of attributes whose values stay when an object is deleted (rule 280).
  package let preservedSlots: [Int: [Int]]
  private let nextTrim = Mutex(Date.distantPast)
  private let bundleIdentifier: String
  private let processName: String

  /// So often a process looks for what is too old.
  private static let trimInterval: TimeInterval = 60

  package init(_ schema: Schema, _ retention: HistoryRetention, clock: @escaping @Sendable () -> Date) {
    self.retention = retention
    self.clock = clock
    processName = ProcessInfo.processInfo.processName
    bundleIdentifier = Bundle.main.bundleIdentifier ?? processName
    var preserved: [Int: [Int]] = [:]
    for entity in schema.entities {
      let slots = entity.entityDescription.slotDescriptions
      for (slot, description) in slots.enumerated() where !description.isTransient {
        let outer = description.name.split(separator: ".").first.map(String.init) ?? description.name
        let isPreserved =
          [description.property, entity.entityDescription.propertiesByName[outer]].contains {
            ($0 as? AttributeDescription)?.preservesValueInHistoryOnDeletion == true
          }
        if isPreserved, !entity.attributes[slot].isTransient {
          preserved[entity.number, default: []].append(slot)
        }
      }
    }
    preservedSlots = preserved
  }

  package func header(_ origin: ChangeOrigin, at now: Date) -> HistoryHeader {
    HistoryHeader(
      timestamp: now, origin: origin, bundleIdentifier: bundleIdentifier, processName: processName)
  }

  /// Whether it is time to look for what is too old.
  package func isTrimDue(at now: Date) -> Bool {
    nextTrim.withLock { next in
      if now < next, next.timeIntervalSince(now) <= Self.trimInterval { return false }
      next = now.addingTimeInterval(Self.trimInterval)
      return true
    }
  }
}
