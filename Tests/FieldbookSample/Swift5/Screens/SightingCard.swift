import SwiftData

/// What a card of a sighting shows, kept up to date by observation.
@MainActor
final class SightingCard {
  private let sighting: Sighting
  private(set) var text = ""
  private(set) var renderings = 0

  init(_ sighting: Sighting) {
    self.sighting = sighting
    render()
  }

  /// Reads what it shows, and is told once when any of that changes.
  func render() {
    renderings += 1
    text = withObservationTracking {
      let name = sighting.species?.commonName ?? "unknown"
      return "\(sighting.count) × \(name): \(sighting.note)"
    } onChange: { [weak self] in
      MainActor.assumeIsolated { self?.isStale = true }
    }
  }

  private(set) var isStale = false

  func renderIfNeeded() {
    guard isStale else { return }
    isStale = false
    render()
  }
}

/// Counts what contexts save, as a status line shows it.
final class SaveCounter: @unchecked Sendable {
  // @unchecked Sendable: the counts are under the lock.

  private let lock = NSLock()
  private var counts: (inserted: Int, updated: Int, deleted: Int) = (0, 0, 0)
  private var observer: (any NSObjectProtocol)?

  init(_ context: ModelContext? = nil) {
    observer = NotificationCenter.default.addObserver(
      forName: ModelContext.didSave, object: context, queue: nil
    ) { [weak self] notification in
      self?.add(notification)
    }
  }

  deinit {
    if let observer { NotificationCenter.default.removeObserver(observer) }
  }

  private func add(_ notification: Notification) {
    func count(_ key: ModelContext.NotificationKey) -> Int {
      (notification.userInfo?[key.rawValue] as? [PersistentIdentifier])?.count ?? 0
    }
    lock.withLock {
      counts.inserted += count(.insertedIdentifiers)
      counts.updated += count(.updatedIdentifiers)
      counts.deleted += count(.deletedIdentifiers)
    }
  }

  var inserted: Int { lock.withLock { counts.inserted } }
  var updated: Int { lock.withLock { counts.updated } }
  var deleted: Int { lock.withLock { counts.deleted } }
}
