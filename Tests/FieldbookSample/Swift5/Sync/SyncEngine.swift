import SwiftData

/// Sends what was changed here and takes what was changed elsewhere. The later word wins.
@ModelActor
actor SyncEngine {
  struct Outcome: Equatable, Sendable {
    var sent = 0
    var received = 0
    var wasComplete = false
  }

  private var remote: RemoteStore?
  private var device = ""
  private var stateURL: URL?

  func connect(to remote: RemoteStore, as device: String, remembering stateURL: URL?) {
    self.remote = remote
    self.device = device
    self.stateURL = stateURL
  }

  private var rememberedState = SyncState()

  private func state() throws -> SyncState {
    guard let stateURL else { return rememberedState }
    return try SyncState.load(from: stateURL)
  }

  private func remember(_ state: SyncState) throws {
    rememberedState = state
    if let stateURL { try state.save(to: stateURL) }
  }

  func sync() async throws -> Outcome {
    guard let remote else { return Outcome() }
    var state = try state()
    let local = try ChangeReader(context: modelContext).changes(after: state.token)
    try await remote.push(local.changes, from: device)
    state.token = local.token
    let arrived = try await remote.changes(after: state.remoteNumber, for: device)
    try apply(arrived.changes)
    state.remoteNumber = arrived.last
    try remember(state)
    return Outcome(
      sent: local.changes.count, received: arrived.changes.count, wasComplete: local.isComplete)
  }

  private func apply(_ changes: [SyncChange]) throws {
    guard !changes.isEmpty else { return }
    let author = modelContext.author
    modelContext.author = ChangeReader.syncAuthor
    defer { modelContext.author = author }
    for change in changes {
      switch change {
      case .put(let record): try put(record)
      case .remove(let uuid):
        if let sighting = try SightingRepository(modelContext).sighting(uuid: uuid) {
          modelContext.delete(sighting)
        }
      }
    }
    try modelContext.save()
  }

  private func put(_ record: SightingRecord) throws {
    let sightings = SightingRepository(modelContext)
    let sighting: Sighting
    if let found = try sightings.sighting(uuid: record.uuid) {
      sighting = found
    } else {
      sighting = Sighting(uuid: record.uuid)
      modelContext.insert(sighting)
    }
    sighting.note = record.note
    sighting.date = record.date
    sighting.count = record.count
    sighting.isVerified = record.isVerified
    sighting.species = try record.species.map { try SpeciesRepository(modelContext).species(coded: $0) }
    sighting.site = try record.site.map { name in
      try modelContext.firstOrInsert(where: #Predicate<Site> { $0.name == name }) {
        Site(name: name, at: .zero)
      }
    }
    let tags = TagRepository(modelContext)
    sighting.tags = try record.tags.map { try tags.tag(named: $0) }
  }

  /// Forgets history that every device has seen.
  func trimHistory() throws {
    guard let token = try state().token else { return }
    try modelContext.deleteHistory(
      HistoryDescriptor<DefaultHistoryTransaction>(predicate: #Predicate { $0.token < token }))
  }

  func records() throws -> [UUID: SightingRecord] {
    let all = try modelContext.fetch(FetchDescriptor<Sighting>())
    return Dictionary(all.map { ($0.uuid, SightingRecord($0)) }, uniquingKeysWith: { first, _ in first })
  }
}
