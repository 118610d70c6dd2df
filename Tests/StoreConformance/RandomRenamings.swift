import Foundation
import SeededRandom
import StrataCore

/// A store that is opened with one version of a model after the other, chosen at random, and a plain list of what was saved.
///
/// Entities, attributes and relationships have numbers; which names they have changes again and again. Names are few, so that one thing gets the name that another
/// had. What the history says must be the list, with the names of now.
final class RandomRenamings {
  /// An entity of the present version.
  private struct Kind {
    let number: Int
    var name: String
    /// By name.
    var attributes: [String: Int] = [:]
    /// A relationship to itself and its inverse.
    var link: (one: String, many: String, number: Int)?

    /// What a property is called; nil for one that is gone.
    func name(_ property: Int) -> String? {
      if let link, property == link.number { return link.one }
      if let link, property == link.number + 1 { return link.many }
      return attributes.first { $0.value == property }?.key
    }
  }

  /// One change, by numbers.
  private struct Line {
    let kind: Int
    let word: String
    let key: String
    var properties: [Int] = []
    var values: [Int: String] = [:]
  }

  private let seed: Int
  private var dice: SeededGenerator
  private var kinds: [Kind] = []
  private var last = 0
  private var expected: [[Line]] = []

  init(seed: Int) {
    self.seed = seed
    dice = SeededGenerator(seed: UInt64(seed))
  }

  private func roll(_ sides: Int) -> Int { Int.random(in: 0..<sides, using: &dice) }

  private func number() -> Int {
    last += 2
    return last
  }

  func run(on stand: ConformanceStand) throws {
    kinds = evolve([])
    var coordinator = try stand.reopen(model(0)) { $0.recordsHistory = true }
    /// How much was expected when each was given.
    var tokens = [(token: try coordinator.currentHistoryToken(), count: 0)]
    var place = 0
    for version in 1...8 {
      for _ in 0..<4 { try save(stand.context(on: coordinator)) }
      let token = try coordinator.currentHistoryToken()
      tokens.append((token, expected.count))
      if roll(2) == 0 {
        try coordinator.setHistoryConsumer(named: "reader", to: token)
        place = expected.count
      }
      let former = model(version - 1)
      stand.engine.adapt(former)
      kinds = evolve(kinds)
      coordinator = try stand.reopen(model(version)) { description in
        description.migratesAllRows = roll(2) == 0
        description.knownModels = [former]
      }
      let what = "seed \(seed), version \(version)"
      for token in tokens {
        try expectEqual(
          try StoreConformance.said(coordinator, after: token.token), told(from: token.count), what)
      }
      if place > 0 {
        let news = try coordinator.history(.fetchHistory(after: .consumer("reader"))).transactions
        try expectEqual(news.count, expected.count - place, "\(what), the reader")
      }
    }
  }

  // MARK: What is saved

  private func save(_ context: ManagedObjectContext) throws {
    let kind = kinds[roll(kinds.count)]
    func key(_ object: ManagedObject) -> String { object.objectID.uriRepresentation().lastPathComponent }
    var values: [Int: String] = [:]
    func fill(_ object: ManagedObject) -> [Int] {
      let chosen = kind.attributes.sorted { $0.key < $1.key }.filter { _ in roll(2) == 0 }
      for (name, number) in chosen {
        let value = "v\(roll(1_000_000))"
        object.setValue(value, forKey: name)
        values[number] = value
      }
      return chosen.map(\.value)
    }
    let object = context.make(kind.name)
    _ = fill(object)
    try context.save()
    expected.append([Line(kind: kind.number, word: "insert", key: key(object))])
    let changed = fill(object)
    if !changed.isEmpty {
      try context.save()
      expected.append([Line(kind: kind.number, word: "update", key: key(object), properties: changed)])
    }
    if let link = kind.link, roll(2) == 0 {
      let other = context.make(kind.name)
      try context.save()
      expected.append([Line(kind: kind.number, word: "insert", key: key(other))])
      object.setValue(other, forKey: link.one)
      try context.save()
      expected.append([
        Line(kind: kind.number, word: "update", key: key(object), properties: [link.number]),
        Line(kind: kind.number, word: "update", key: key(other), properties: [link.number + 1]),
      ])
    } else if roll(2) == 0 {
      context.delete(object)
      try context.save()
      expected.append([Line(kind: kind.number, word: "delete", key: key(object), values: values)])
    }
  }

  private func told(from count: Int) -> [[String]] {
    expected.dropFirst(count).map { lines in
      lines.compactMap { line in
        guard let kind = kinds.first(where: { $0.number == line.kind }) else { return nil }
        let values = line.values.compactMap { number, value in kind.name(number).map { "\($0)=\(value)" } }
        let details = line.properties.compactMap { kind.name($0) }.sorted() + values.sorted()
        let words = [kind.name, line.word, line.key, details.joined(separator: ",")]
        return words.filter { !$0.isEmpty }.joined(separator: " ")
      }.sorted()
    }
  }

  // MARK: Versions

  private func model(_ version: Int) -> ManagedObjectModel {
    ManagedObjectModel(
      entities: kinds.map { kind in
        let entity = EntityDescription(
          kind.name,
          properties: kind.attributes.sorted { $0.key < $1.key }.map {
            StoreConformance.preserved($0.key, from: "n\($0.value)")
          })
        if let link = kind.link {
          StoreConformance.relateToItself(
            entity, link.one, link.many, identifiers: ("n\(link.number)", "n\(link.number + 1)"))
        }
        entity.renamingIdentifier = "n\(kind.number)"
        // Names that only change places are no other version.
        entity.versionHashModifier = "\(version)"
        return entity
      })
  }

  /// The next version. A new thing has no name of one that goes with the same step: it would continue that.
  private func evolve(_ former: [Kind]) -> [Kind] {
    var staying = former
    if staying.count > 2 || staying.count == 2 && roll(2) == 0 { staying.remove(at: roll(staying.count)) }
    while staying.count < 2 { staying.append(Kind(number: number(), name: "")) }
    if staying.count < 3, roll(3) == 0 { staying.append(Kind(number: number(), name: "")) }
    let gone = former.filter { kind in !staying.contains { $0.number == kind.number } }.map(\.name)
    let names = names(staying.map { ($0.number, $0.name) }, ["A", "B", "C", "D"], gone: gone)
    return staying.map { evolve($0, named: names[$0.number] ?? "") }
  }

  private func evolve(_ former: Kind, named name: String) -> Kind {
    var things = former.attributes.sorted { $0.key < $1.key }.map { (number: $0.value, name: $0.key) }
    var gone: [String] = []
    if !things.isEmpty, roll(2) == 0 { gone.append(things.remove(at: roll(things.count)).name) }
    while things.count < 2 || things.count < 4 && roll(2) == 0 { things.append((number(), "")) }
    var link: Int? = former.link?.number
    if let old = former.link, roll(3) == 0 {
      link = nil
      gone += [old.one, old.many]
    } else if link == nil, roll(2) == 0 {
      link = number()
    }
    if let link {
      things.append((link, former.link?.one ?? ""))
      things.append((link + 1, former.link?.many ?? ""))
    }
    let names = names(things, ["a", "b", "c", "d", "e", "f", "g"], gone: gone)
    var kind = Kind(number: former.number, name: name)
    for (thing, name) in names where thing != link && thing != link.map({ $0 + 1 }) {
      kind.attributes[name] = thing
    }
    kind.link = link.flatMap { link in
      names[link].flatMap { one in names[link + 1].map { (one, $0, link) } }
    }
    return kind
  }

  /// Gives each thing a name, by number: its own or another one, or for new ones, without a name so far, one that is none of `gone`.
  private func names(_ things: [(number: Int, name: String)], _ pool: [String], gone: [String]) -> [Int:
    String]
  {
    var result: [Int: String] = [:]
    var free = pool.shuffled(using: &dice)
    // Those with fewer choices first.
    for thing in things where thing.name.isEmpty {
      let place = free.firstIndex { !gone.contains($0) }
      result[thing.number] = place.map { free.remove(at: $0) } ?? "k\(thing.number)"
    }
    for thing in things where !thing.name.isEmpty {
      let place = roll(2) == 0 ? free.firstIndex(of: thing.name) : nil
      result[thing.number] = (place ?? free.indices.first).map { free.remove(at: $0) } ?? "k\(thing.number)"
    }
    return result
  }
}
