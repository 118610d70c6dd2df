import Foundation
import SwiftData
import Testing

/// Models whose relationships mostly lead one way.
enum OneWay {
  @Model final class Mark {
    var code: String
    init(_ code: String) { self.code = code }
  }
  @Model final class Root {
    var name: String
    var loose: [Mark] = []
    var one: Mark?
    @Relationship(deleteRule: .cascade) var own: [Mark] = []
    @Relationship(deleteRule: .cascade) var sole: Mark?
    init(_ name: String) { self.name = name }
  }
  @Model final class Strict {
    @Relationship(deleteRule: .deny) var many: [Mark] = []
    @Relationship(deleteRule: .deny) var one: Mark?
    init() {}
  }
  @Model final class Node {
    var name: String
    var card: Card?
    init(_ name: String) { self.name = name }
  }
  @Model final class Card {
    var number: Int
    @Relationship(deleteRule: .cascade, inverse: \Node.card) var node: Node?
    init(_ number: Int) { self.number = number }
  }
}

@Suite("Undo of insertions and deletions that were saved, in models with relationships without an inverse")
struct OneSidedUndoTests {
  typealias Mark = OneWay.Mark
  typealias Root = OneWay.Root

  private let container: ModelContainer
  private let context: ModelContext
  private let manager = UndoManager()

  init() throws {
    container = try ModelContainer(
      for: Root.self, OneWay.Strict.self, OneWay.Card.self,
      configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    context = ModelContext(container)
    context.autosaveEnabled = false
    context.undoManager = manager
  }

  private func savedMarks() throws -> [String] {
    try ModelContext(container).fetch(FetchDescriptor<Mark>()).map(\.code).sorted()
  }

  /// Saves `model`, and begins the story with nothing to undo.
  private func begin(with models: any PersistentModel...) throws {
    for model in models { context.insert(model) }
    try context.save()
    manager.removeAllActions()
  }

  // MARK: Insertions

  @Test("An insertion that is undone behind its save leaves what it has led to, whatever the delete rule")
  func insertionUndone() throws {
    let (one, two) = (Mark("one"), Mark("two"))
    try begin(with: one, two)
    let root = Root("root")
    context.insert(root)
    root.sole = one
    root.own = [two]
    try context.save()
    manager.undo()
    try context.save()
    #expect(try savedMarks() == ["one", "two"])
    #expect(try context.fetchCount(FetchDescriptor<Root>()) == 0)
    manager.redo()
    #expect(root.sole === one && root.own == [two])
    try context.save()
    // A deletion by hand takes them along.
    context.delete(root)
    try context.save()
    #expect(try savedMarks().isEmpty)
  }

  @Test("An insertion that is undone behind its save is not denied by what it has led to")
  func deniedInsertionUndone() throws {
    let (one, two) = (Mark("one"), Mark("two"))
    try begin(with: one, two)
    let strict = OneWay.Strict()
    context.insert(strict)
    strict.one = one
    strict.many = [two]
    try context.save()
    manager.undo()
    try context.save()
    #expect(try context.fetchCount(FetchDescriptor<OneWay.Strict>()) == 0)
    manager.redo()
    try context.save()
    context.delete(strict)
    #expect(throws: (any Error).self) { () throws in try context.save() }
    context.rollback()
    #expect(try savedMarks() == ["one", "two"])
  }

  @Test(
    "One-to-one: the model that was there stays when the other end's insertion is undone",
    arguments: [true, false])
  func partnerStays(isSetByNode: Bool) throws {
    let node = OneWay.Node("node")
    try begin(with: node)
    let card = OneWay.Card(5)
    context.insert(card)
    if isSetByNode { node.card = card } else { card.node = node }
    try context.save()
    manager.undo()
    try context.save()
    #expect(node.card == nil)
    let reader = ModelContext(container)
    #expect(try reader.fetchCount(FetchDescriptor<OneWay.Node>()) == 1)
    #expect(try reader.fetchCount(FetchDescriptor<OneWay.Card>()) == 0)
  }

  @Test("The deletion of what the cascade takes along is redone with it")
  func cascadeRedone() throws {
    let (root, one, two) = (Root("root"), Mark("one"), Mark("two"))
    root.sole = one
    root.own = [two]
    try begin(with: root, Mark("three"))
    context.delete(root)
    try context.save()
    manager.undo()
    try context.save()
    #expect(try savedMarks() == ["one", "three", "two"])
    manager.redo()
    try context.save()
    #expect(try savedMarks() == ["three"])
  }

  @Test("What a model had let go before it was deleted in the same event stays when that is redone")
  func letGoBefore() throws {
    let (root, one) = (Root("root"), Mark("one"))
    root.sole = one
    try begin(with: root)
    root.sole = nil
    context.delete(root)
    try context.save()
    #expect(try savedMarks() == ["one"])
    manager.undo()
    #expect(root.sole === one)
    try context.save()
    manager.redo()
    try context.save()
    #expect(try savedMarks() == ["one"])
  }

  // MARK: Deletions

  @Test("A deletion that is undone behind its save brings back the member", arguments: [true, false])
  func memberBack(isLoaded: Bool) throws {
    let (root, one, two) = (Root("root"), Mark("one"), Mark("two"))
    root.loose = [one, two]
    try begin(with: root)
    if isLoaded { #expect(root.loose.count == 2) }
    context.delete(one)
    try context.save()
    #expect(root.loose == [two])
    manager.undo()
    #expect(Set(root.loose) == [one, two] && !manager.canUndo)
    try context.save()
    try withExtendedLifetime(ModelContext(container)) { reader in
      let saved = try #require(try reader.fetch(FetchDescriptor<Root>()).first)
      #expect(saved.loose.map(\.code).sorted() == ["one", "two"])
    }
    manager.redo()
    #expect(root.loose == [two])
    try context.save()
    manager.undo()
    #expect(Set(root.loose) == [one, two])
  }

  @Test(
    "An owner and its member, deleted one after the other, come back in any order", arguments: [true, false])
  func ownerAndMember(isMemberFirst: Bool) throws {
    let (root, one, two) = (Root("root"), Mark("one"), Mark("two"))
    root.loose = [one, two]
    try begin(with: root)
    if isMemberFirst { context.delete(one) } else { context.delete(root) }
    context.processPendingChanges()
    if isMemberFirst { context.delete(root) } else { context.delete(one) }
    try context.save()
    while manager.canUndo { manager.undo() }
    #expect(Set(root.loose) == [one, two])
    try context.save()
    try withExtendedLifetime(ModelContext(container)) { reader in
      let saved = try #require(try reader.fetch(FetchDescriptor<Root>()).first)
      #expect(saved.loose.map(\.code).sorted() == ["one", "two"])
    }
  }

  @Test(
    "What the save of a deletion has cleared is one step of undo together with it", arguments: [true, false])
  func oneStep(groupsByEvent: Bool) throws {
    let (root, one) = (Root("root"), Mark("one"))
    root.one = one
    root.loose = [one]
    try begin(with: root)
    manager.groupsByEvent = groupsByEvent
    if !groupsByEvent { manager.beginUndoGrouping() }
    context.delete(one)
    context.processPendingChanges()
    if !groupsByEvent { manager.endUndoGrouping() }
    try context.save()
    #expect(root.one == nil && root.loose.isEmpty)
    manager.undo()
    #expect(root.one === one && root.loose == [one] && !manager.canUndo)
    try context.save()
    #expect(root.one === one)
    manager.redo()
    #expect(try context.fetchCount(FetchDescriptor<Mark>()) == 0 && !manager.canRedo)
    try context.save()
    #expect(root.one == nil)
  }

  @Test("What the save clears of a deletion that cannot be undone cannot be undone either")
  func forgottenDeletion() throws {
    let (root, one) = (Root("root"), Mark("one"))
    root.one = one
    try begin(with: root)
    manager.groupsByEvent = false
    manager.beginUndoGrouping()
    context.delete(one)
    context.processPendingChanges()
    manager.endUndoGrouping()
    manager.removeAllActions()
    try context.save()
    #expect(root.one == nil && !manager.canUndo)
  }

  // MARK: New models

  @Test("What the save clears of a new model's deletion is one step of undo together with it")
  func clearedReference() throws {
    let (root, one) = (Root("root"), Mark("one"))
    try begin(with: root)
    manager.groupsByEvent = false
    manager.beginUndoGrouping()
    context.insert(one)
    root.one = one
    context.processPendingChanges()
    manager.endUndoGrouping()
    manager.beginUndoGrouping()
    context.delete(one)
    context.processPendingChanges()
    manager.endUndoGrouping()
    try context.save()
    #expect(root.one == nil)
    manager.undo()
    #expect(root.one === one)
    try context.save()
    #expect(root.one === one)
    #expect(try savedMarks() == ["one"])
    manager.undo()
    #expect(root.one == nil && !manager.canUndo)
  }

  @Test("A new model that is deleted again is no member after the event", arguments: [true, false])
  func goneAgain(isOwnerSaved: Bool) throws {
    let (root, one) = (Root("root"), Mark("one"))
    context.insert(root)
    if isOwnerSaved { try context.save() }
    context.insert(one)
    root.loose = [one]
    context.processPendingChanges()
    context.delete(one)
    context.processPendingChanges()
    #expect(root.loose.isEmpty)
    #expect(try context.fetchCount(FetchDescriptor<Root>(predicate: #Predicate { $0.loose.isEmpty })) == 1)
    manager.undo()
    #expect(root.loose == [one])
    manager.redo()
    #expect(root.loose.isEmpty)
    manager.undo()
    try context.save()
    try withExtendedLifetime(ModelContext(container)) { reader in
      let saved = try #require(try reader.fetch(FetchDescriptor<Root>()).first)
      #expect(saved.loose.map(\.code) == ["one"])
    }
  }
}
