import SwiftData

/// Random operations on one graph, in two contexts and an actor, each compared with the reference.
///
/// Everything follows from the seed. `nonisolated`, so that the two contexts are used by whichever thread goes on with the story.
final class Story {
  let seed: UInt64
  let operations: Int
  private var graph = PlainGraph(places: 3)
  private var dice: Dice
  private var container: ModelContainer
  private var places: [Location]
  private let folder: URL
  /// How large the graph grows, and how often it is saved and looked at: each seed has its own.
  private let mostModels: Int
  private let savesPerCent: Int
  private let isInMemory: Bool
  private(set) var counts: [String: Int] = [:]

  private let isLoud: Bool

  init(seed: UInt64, operations: Int, isLoud: Bool = false) throws {
    self.seed = seed
    self.isLoud = isLoud
    self.operations = operations
    var dice = Dice(seed: seed)
    mostModels = [12, 40, 100, 200][dice.roll(4)]
    savesPerCent = 2 + dice.roll(12)
    isInMemory = dice.chance(40)
    folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "random-models-\(UUID().uuidString)")
    self.dice = dice
    (container, places) = try Self.open(folder, isInMemory: isInMemory, seed: seed)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  private static func open(_ folder: URL, isInMemory: Bool, seed: UInt64) throws -> (
    ModelContainer, [Location]
  ) {
    let container = try ModelContainer(
      for: Thing.self, Tool.self, Toy.self, Part.self, Person.self, Label.self, House.self,
      configurations: isInMemory
        ? ModelConfiguration(isStoredInMemoryOnly: true)
        : ModelConfiguration(url: folder.appendingPathComponent("Models.store")))
    let contexts = (0..<2).map { _ in
      // The story says when something is saved.
      let context = ModelContext(container)
      context.autosaveEnabled = false
      return context
    }
    let here = contexts.enumerated().map { Location.here(Place($1, seed: seed &+ UInt64($0))) }
    return (container, here + [.actor(Worker(modelContainer: container), seed: seed &+ 2)])
  }

  /// - Throws: ``Disagreement``, and what a context throws, with the step.
  func run() async throws {
    for step in 1...max(operations, 1) {
      let place = dice.roll(places.count)
      do {
        try await take(step, in: place)
      } catch {
        throw Disagreement("step \(step), context \(place): \(error)")
      }
    }
    for place in places.indices {
      do { try await look(in: place) } catch { throw Disagreement("at the end, context \(place): \(error)") }
    }
  }

  private func take(_ step: Int, in place: Int) async throws {
    let uids = graph.uids(in: place)
    // Saves and looks come more seldom the more they cost.
    if dice.chance(savesPerCent) { return try await save(place) }
    switch dice.roll(100) {
    case 0..<18:
      if uids.count < mostModels {
        try await insert(in: place, uids)
      } else {
        try await delete(in: place, uids)
      }
    case 18..<45: try await set(in: place, uids)
    case 45..<70: try await relate(in: place, uids)
    case 70..<78: try await delete(in: place, uids)
    case 78..<80: try await deleteAndInsert(in: place, uids)
    case 80..<84: try await count("forgotten", .forget(Set(uids.filter { _ in dice.chance(50) })), in: place)
    case 84..<91: try await ask(in: place)
    case 91..<93:
      graph.rollback(place)
      try await count("rolled back", .rollback, in: place)
      try await look(in: place)
    case 93: try await deleteStored(in: place)
    case 94: try await reopen()
    default: try await look(in: place)
    }
  }

  private func count(_ what: String, _ step: Step, in place: Int) async throws {
    counts[what, default: 0] += 1
    if isLoud { print("context \(place): \("\(step)".prefix(400))") }
    try await places[place].apply(step)
  }

  // MARK: Steps

  private func insert(in place: Int, _ uids: [Int]) async throws {
    guard let kind = dice.pick(Kind.allCases) else { return }
    let uid = graph.insert(kind, in: place)
    let values = randomValues(of: kind)
    for (attribute, value) in values { graph.set(attribute, value, of: uid, in: place) }
    var links: [Link: [Int]] = [:]
    for link in kind.links where dice.chance(40) {
      let members = randomMembers(link, in: place, uids, besides: [uid])
      let touched = graph.touched(link, of: uid, to: Set(members), in: place)
      guard !members.isEmpty, graph.mayRelate(touched, in: place) else { continue }
      // No two links may be about one model: which is set first would matter.
      if links.values.contains(where: { !Set($0).isDisjoint(with: members) }) { continue }
      links[link] = members
      graph.set(link, of: uid, to: Set(members), in: place)
    }
    let order = InsertionOrder.allCases[dice.roll(3)]
    try await count("inserted", .insert(uid: uid, kind, values, links, order), in: place)
  }

  private func randomValues(of kind: Kind) -> [Field: PlainValue] {
    var values: [Field: PlainValue] = [:]
    for attribute in kind.attributes where dice.chance(35) {
      values[attribute] = PlainValue.random(attribute, &dice)
    }
    return values
  }

  private func randomMembers(_ link: Link, in place: Int, _ uids: [Int], besides: Set<Int>) -> [Int] {
    let fitting = uids.filter { uid in
      !besides.contains(uid)
        && graph.record(uid, in: place).map { link.inverse.owners.contains($0.kind) } == true
    }
    if !link.isToMany { return dice.pick(fitting).map { [$0] } ?? [] }
    return fitting.filter { _ in dice.roll(fitting.count) < 3 }
  }

  private func set(in place: Int, _ uids: [Int]) async throws {
    guard let uid = dice.pick(uids), let kind = graph.record(uid, in: place)?.kind else { return }
    // What another context deletes is not changed.
    if graph.pending.contains(where: { $0.deleted.contains(uid) }) { return }
    let values = randomValues(of: kind)
    for (attribute, value) in values { graph.set(attribute, value, of: uid, in: place) }
    if dice.chance(3) {
      graph.save(place)
      try await count("transactions", .saveInTransaction(uid: uid, values), in: place)
    } else {
      try await count("set", .set(uid: uid, values), in: place)
    }
  }

  private func relate(in place: Int, _ uids: [Int]) async throws {
    guard let uid = dice.pick(uids), let kind = graph.record(uid, in: place)?.kind,
      let link = dice.pick(kind.links)
    else { return }
    let members = dice.chance(25) ? [] : randomMembers(link, in: place, uids, besides: [])
    // Nobody is their own boss here, directly.
    if members.contains(uid) { return }
    let touched = graph.touched(link, of: uid, to: Set(members), in: place)
    guard graph.mayRelate(touched, in: place) else { return }
    graph.set(link, of: uid, to: Set(members), in: place)
    try await count("related", .relate(uid: uid, link, members), in: place)
  }

  private func delete(in place: Int, _ uids: [Int]) async throws {
    guard let uid = dice.pick(uids), graph.mayDelete(uid, in: place) else { return }
    graph.delete([uid], in: place)
    try await count("deleted", .delete(uid: uid), in: place)
  }

  private func deleteAndInsert(in place: Int, _ uids: [Int]) async throws {
    guard let uid = dice.pick(uids), !graph.pending.contains(where: { $0.touches(uid) }) else { return }
    graph.noteSettled(in: place)
    try await count("deleted and inserted", .deleteAndInsert(uid: uid), in: place)
  }

  private func save(_ place: Int) async throws {
    graph.save(place)
    try await count("saved", .save, in: place)
    if dice.chance(20) { try await look(in: dice.roll(places.count)) }
  }

  private func ask(in place: Int) async throws {
    let question = Question.random(&dice)
    let shown = Dictionary(
      uniqueKeysWithValues: graph.uids(in: place).compactMap { uid in
        graph.record(uid, in: place).map { (uid, $0) }
      })
    let answer = Answer(uids: question.answer(shown), stored: question.answer(graph.store).count)
    try await count("asked", .ask(question, answer), in: place)
  }

  private func look(in place: Int) async throws {
    let shown = graph.uids(in: place).compactMap { uid in graph.record(uid, in: place).map { (uid, $0) } }
    let pending = graph.pending[place]
    let expected = Expected(
      records: Dictionary(uniqueKeysWithValues: shown), inserted: Set(pending.inserted.keys),
      deleted: pending.deleted, stored: Set(graph.store.keys),
      hasChanges: pending.isEmpty ? false : pending.inserted.isEmpty && pending.deleted.isEmpty ? nil : true)
    try await count("compared", .compare(expected), in: place)
  }

  /// At once, in the store, where nothing is unsaved that it could meet.
  private func deleteStored(in place: Int) async throws {
    for place in places.indices where !graph.pending[place].isEmpty { try await save(place) }
    guard let kind = dice.pick(Kind.allCases), case .text(let name?) = PlainValue.random(.name, &dice) else {
      return
    }
    let kinds: [Kind] = kind == .thing ? [.thing, .tool, .toy] : [kind]
    let uids = graph.store.filter { kinds.contains($0.value.kind) && $0.value.values[.name] == .text(name) }
    graph.deleteStored(Set(uids.keys))
    try await count("deleted in the store", .deleteStored(kind, name: name), in: place)
    for place in places.indices { try await look(in: place) }
  }

  /// Everything is let go, and the store opened again.
  private func reopen() async throws {
    if isInMemory { return }
    for place in places.indices where !graph.pending[place].isEmpty { try await save(place) }
    counts["reopened", default: 0] += 1
    places = []
    (container, places) = try Self.open(folder, isInMemory: isInMemory, seed: seed)
    for place in places.indices { try await look(in: place) }
  }
}
