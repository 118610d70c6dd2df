import Foundation
import SwiftData
import Testing

/// Models of every kind of to-many relationship.
enum Woven {
  @Model final class Tag {
    var code: String
    @Relationship(inverse: \Leaf.tags) var leaves: [Leaf] = []
    init(_ code: String) { self.code = code }
  }
  @Model final class Leaf {
    var name: String
    var tags: [Tag] = []
    var stem: Stem?
    init(_ name: String) { self.name = name }
  }
  @Model final class Stem {
    var name: String
    @Relationship(deleteRule: .cascade, inverse: \Leaf.stem) var leaves: [Leaf] = []
    var loose: [Tag] = []
    @Relationship(deleteRule: .cascade) var sole: Tag?
    init(_ name: String) { self.name = name }
  }
}

/// Random edits, undone, redone, saved and rolled back, beside a list of what the world has looked like after each group.
@Suite("Random undo with relationships without an inverse")
struct RandomOneSidedUndoTests {
  private struct Dice: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return state &* 2_685_821_657_736_338_717
    }
  }

  @Test("The world is what it was, in the context and in the store", arguments: 1...16)
  func againstWorlds(seed: Int) throws {
    let container = try ModelContainer(
      for: Woven.Stem.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let context = ModelContext(container)
    context.autosaveEnabled = false
    let manager = UndoManager()
    manager.groupsByEvent = false
    context.undoManager = manager
    var dice = Dice(state: UInt64(seed) &* 104_729 &+ 7)
    var worlds = [try world(context)]
    var (place, number) = (0, 0)
    var log: [String] = []
    for _ in 0..<40 {
      let roll = Int.random(in: 0..<20, using: &dice)
      if roll >= 16 {
        log.append("save")
        try context.save()
        try #require(try world(ModelContext(container)) == worlds[place], "\(story(seed, log))")
      } else if roll <= 3, place > 0 {
        log.append("undo")
        manager.undo()
        place -= 1
      } else if roll <= 5, place < worlds.count - 1 {
        log.append("redo")
        manager.redo()
        place += 1
      } else if roll == 6 {
        log.append("rollback")
        context.rollback()
        worlds = [try world(ModelContext(container))]
        place = 0
        try #require(!manager.canUndo && !manager.canRedo, "\(story(seed, log))")
      } else {
        manager.beginUndoGrouping()
        number += 1
        // Every group changes something.
        context.insert(Woven.Leaf("every \(number)"))
        for _ in 0..<Int.random(in: 1...3, using: &dice) {
          number += 1
          log.append(try edit(context, number, &dice))
        }
        context.processPendingChanges()
        manager.endUndoGrouping()
        worlds = worlds[...place] + [try world(context)]
        place += 1
      }
      try #require(try world(context) == worlds[place], "\(story(seed, log))")
    }
  }

  private func story(_ seed: Int, _ log: [String]) -> String {
    "seed \(seed): \(log.suffix(16).joined(separator: ", "))"
  }

  /// Changes something at random; says what.
  private func edit(_ context: ModelContext, _ number: Int, _ dice: inout Dice) throws -> String {
    let leaf = try someone(context, Woven.Leaf.self, SortDescriptor(\.name), &dice)
    let tag = try someone(context, Woven.Tag.self, SortDescriptor(\.code), &dice)
    let stem = try someone(context, Woven.Stem.self, SortDescriptor(\.name), &dice)
    switch Int.random(in: 0..<11, using: &dice) {
    case 0:
      let new = Woven.Leaf("l\(number)")
      context.insert(new)
      new.stem = stem
      return "leaf \(number) of \(stem?.name ?? "nothing")"
    case 1:
      let new = Woven.Stem("s\(number)")
      context.insert(new)
      new.leaves = [leaf].compactMap(\.self)
      new.sole = tag
      return "stem \(number) with \(leaf?.name ?? "nothing"), \(tag?.code ?? "nothing")"
    case 2:
      let new = Woven.Tag("t\(number)")
      context.insert(new)
      leaf?.tags.append(new)
      stem?.loose.append(new)
      return "tag \(number) of \(leaf?.name ?? "nothing"), \(stem?.name ?? "nothing")"
    case 3: leaf?.stem = stem
    case 4: stem?.sole = tag
    case 5: if let leaf { context.delete(leaf) }
    case 6: if let stem { context.delete(stem) }
    case 7: if let tag { context.delete(tag) }
    case 8:
      if let leaf, let tag {
        leaf.tags = leaf.tags.contains(tag) ? leaf.tags.filter { $0 != tag } : leaf.tags + [tag]
      }
    case 9:
      if let stem, let tag {
        stem.loose = stem.loose.contains(tag) ? stem.loose.filter { $0 != tag } : stem.loose + [tag]
      }
    default: tag?.code = "t\(number)"
    }
    return "edit \(leaf?.name ?? "nothing"), \(tag?.code ?? "nothing"), \(stem?.name ?? "nothing")"
  }

  private func someone<Model: PersistentModel>(
    _ context: ModelContext, _ type: Model.Type, _ order: SortDescriptor<Model>, _ dice: inout Dice
  ) throws -> Model? {
    try context.fetch(FetchDescriptor<Model>(sortBy: [order])).randomElement(using: &dice)
  }

  /// What there is, and how it is related.
  private func world(_ context: ModelContext) throws -> [String] {
    var lines: [String] = []
    for leaf in try context.fetch(FetchDescriptor<Woven.Leaf>()) {
      lines.append("leaf \(leaf.name) of \(leaf.stem?.name ?? "-") \(leaf.tags.map(\.code).sorted())")
    }
    for tag in try context.fetch(FetchDescriptor<Woven.Tag>()) {
      lines.append("tag \(tag.code) of \(tag.leaves.map(\.name).sorted())")
    }
    for stem in try context.fetch(FetchDescriptor<Woven.Stem>()) {
      let leaves = stem.leaves.map(\.name).sorted()
      lines.append(
        "stem \(stem.name) \(leaves) \(stem.loose.map(\.code).sorted()) \(sole(of: stem, context))")
    }
    return lines.sorted()
  }

  /// A deleted model is led to until the deletion is saved.
  private func sole(of stem: Woven.Stem, _ context: ModelContext) -> String {
    guard let sole = stem.sole, !sole.isDeleted, sole.modelContext != nil else { return "-" }
    return sole.code
  }
}
