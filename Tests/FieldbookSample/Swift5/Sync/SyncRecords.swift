import SwiftData

/// A sighting as it goes over the wire.
struct SightingRecord: Codable, Equatable, Sendable {
  var uuid: UUID
  var note: String
  var date: Date
  var count: Int
  var isVerified: Bool
  var species: String?
  var site: String?
  var tags: [String]

  init(_ sighting: Sighting) {
    uuid = sighting.uuid
    note = sighting.note
    date = sighting.date
    count = sighting.count
    isVerified = sighting.isVerified
    species = sighting.species?.code
    site = sighting.site?.name
    tags = sighting.tags.map(\.name).sorted()
  }
}

/// One thing that has changed, there or here.
enum SyncChange: Equatable, Sendable {
  case put(SightingRecord)
  case remove(UUID)

  var uuid: UUID {
    switch self {
    case .put(let record): record.uuid
    case .remove(let uuid): uuid
    }
  }
}

/// The other side: keeps all changes in the order in which they came, and who sent them.
actor RemoteStore {
  struct Entry: Sendable {
    let number: Int
    let device: String
    let change: SyncChange
  }
  enum Failure: Error { case offline }

  private(set) var entries: [Entry] = []
  private var isOffline = false

  func setOffline(_ isOffline: Bool) { self.isOffline = isOffline }

  func push(_ changes: [SyncChange], from device: String) throws {
    if isOffline { throw Failure.offline }
    for change in changes {
      entries.append(Entry(number: entries.count + 1, device: device, change: change))
    }
  }

  /// What other devices have sent since a number.
  func changes(after number: Int, for device: String) throws -> (changes: [SyncChange], last: Int) {
    if isOffline { throw Failure.offline }
    let found = entries.filter { $0.number > number && $0.device != device }
    return (found.map(\.change), entries.last?.number ?? number)
  }

  /// The records as they are after all changes.
  var records: [UUID: SightingRecord] {
    var records: [UUID: SightingRecord] = [:]
    for entry in entries {
      switch entry.change {
      case .put(let record): records[record.uuid] = record
      case .remove(let uuid): records[uuid] = nil
      }
    }
    return records
  }
}

/// Where a device has got to. Kept in a file between launches.
struct SyncState: Codable, Equatable, Sendable {
  var token: DefaultHistoryToken?
  var remoteNumber = 0

  static func load(from url: URL) throws -> SyncState {
    guard FileManager.default.fileExists(atPath: url.path) else { return SyncState() }
    return try JSONDecoder().decode(SyncState.self, from: Data(contentsOf: url))
  }

  func save(to url: URL) throws {
    try JSONEncoder().encode(self).write(to: url, options: .atomic)
  }
}
