import Foundation
import Strata
import Testing

/// What classes check themselves: validators by key, overrides, replaced values (rules 225, 226, 229, 230, 233).
struct ValueValidatorTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(ClubModel.make())
    context = store.context()
  }

  private func savedTexts() throws -> [String] {
    try store.fresh { try $0.fetch(FetchRequest<Plaque>(entityName: "Plaque")).compactMap(\.text).sorted() }
  }

  private func trim(_ plaque: Plaque, _ text: inout String?) {
    text = text?.trimmingCharacters(in: .whitespaces)
  }

  @Test("rule 230: a value that a validator replaces is the one saved, of new and of changed objects")
  func valuesAreReplaced() throws {
    let plaque = Plaque.make("  Duke ", in: context)
    plaque.onText = trim
    try context.save()
    #expect(plaque.text == "Duke" && !context.hasChanges)
    #expect(try savedTexts() == ["Duke"])
    plaque.text = " Eddie"
    try context.save()
    #expect(try savedTexts() == ["Eddie"])
  }

  @Test("rule 230: the replaced value must meet the rules, and validators see it again until it stays")
  func replacedValuesAreValidated() throws {
    let plaque = Plaque.make("Duke", in: context)
    plaque.onText = { _, text in text = String(repeating: "x", count: 21) }
    #expect(errors { try context.save() }.map { ($0 as NSError).code } == [1660])
    #expect(plaque.text == "Duke")
    plaque.onText = { _, text in if let old = text, old.count < 10 { text = old + "!" } }
    try context.save()
    #expect(plaque.text == "Duke!!!!!!")
  }

  @Test("rules 225, 230: on request the value comes back replaced, and the object stays as it is")
  func onRequest() throws {
    let plaque = Plaque.make("Duke", in: context)
    try context.save()
    plaque.onText = trim
    var value: Any? = " Eddie "
    try plaque.validateValue(&value, forKey: "text")
    #expect(value as? String == "Eddie" && plaque.text == "Duke" && !context.hasChanges)
    plaque.onText = { _, text in text = nil }
    try plaque.validateValue(&value, forKey: "text")
    #expect(value == nil)
  }

  @Test(
    "rule 230: a validator that never leaves a value alone is an error that names it",
    arguments: [true, false])
  func endlessValidators(_ isOnRequest: Bool) throws {
    let plaque = Plaque.make("a", in: context)
    plaque.onText = { _, text in text = text == "a" ? "b" : "a" }
    var value: Any? = "a"
    let found = errors {
      if isOnRequest { try plaque.validateValue(&value, forKey: "text") } else { try context.save() }
    }
    let error = try #require(found.first as? CoreDataError)
    #expect(found.count == 1 && error.code == .coreData && error.localizedDescription.contains("Plaque.text"))
    plaque.onText = { _, _ in }
    try context.save()
  }

  @Test("rule 230: validation that changes objects every time is an error")
  func endlessOverrides() throws {
    let plaque = Plaque.make("a", in: context)
    plaque.onInsert = { $0.number += 1 }
    let error = try #require(errors { try context.save() }.first as? CoreDataError)
    #expect(error.code == .coreData && error.localizedDescription.contains("rounds"))
    plaque.onInsert = { _ in }
    try context.save()
  }

  @Test("rule 229: a validator's own error comes through as it is")
  func ownErrors() throws {
    struct Misspelt: Error, Equatable { let text: String }
    let plaque = Plaque.make("Duek", in: context)
    plaque.onText = { _, text in if text == "Duek" { throw Misspelt(text: "Duek") } }
    #expect(throws: Misspelt(text: "Duek")) { try context.save() }
    #expect(throws: Misspelt(text: "Duek")) { try plaque.validateForInsert() }
    plaque.onText = { _, _ in throw NSError(domain: "Stonemason", code: 7, userInfo: ["x": 1]) }
    let bridged = errors { try context.save() }.first as NSError?
    #expect(bridged?.domain == "Stonemason" && bridged?.code == 7 && bridged?.userInfo["x"] as? Int == 1)
  }

  @Test("rule 226: errors of validators, rules and other objects are collected together")
  func errorsAreCollected() throws {
    struct Torn: Error {}
    let plaque = Plaque.make("Duke", in: context)
    plaque.onText = { _, _ in throw Torn() }
    plaque.onNumber = { _, _ in throw Torn() }
    Member.make("duke", in: context)
    let found = errors { try context.save() }
    #expect(found.count(where: { $0 is Torn }) == 2)
    #expect(found.compactMap { ($0 as? CoreDataError)?.code } == [.validationStringPatternMatching])
  }

  @Test("rule 225: a validator is not asked about a value that breaks a rule of the model")
  func modelComesFirst() throws {
    let plaque = Plaque.make(String(repeating: "x", count: 21), in: context)
    #expect(errors { try context.save() }.count == 1)
    #expect(plaque.textCalls == 0)
    plaque.text = "short"
    try context.save()
    #expect(plaque.textCalls == 1)
  }

  @Test("rule 225: validators see values in their own types; nil too")
  func typedValues() throws {
    let plaque = Plaque.make(nil, in: context)
    plaque.number = 5
    plaque["loose"] = [1, 2]
    var seen: [String] = []
    plaque.onText = { _, text in seen.append("\(text ?? "nil")") }
    plaque.onNumber = { _, number in
      seen.append("\(number ?? -1)")
      number = 6
    }
    plaque.onLoose = { _, loose in
      seen.append("\(loose as? [Int] ?? [])")
      loose = 3
    }
    try context.save()
    #expect(plaque.number == 6 && plaque["loose"] as? Int == 3)
    #expect(seen.prefix(2) == ["nil", "5"] && seen.contains("[1, 2]"))
  }

  @Test(
    "rules 230, 233: what a validator changes elsewhere belongs to the same save and is validated with it")
  func editsOfOthers() throws {
    let other = Plaque.make("other", in: context)
    let gone = Plaque.make("gone", in: context)
    try context.save()
    let plaque = Plaque.make("first", in: context)
    plaque.onText = { plaque, _ in
      if other.text != "edited" {
        other.text = "edited"
        plaque.remark = "seen"
        plaque.managedObjectContext?.delete(gone)
        plaque.managedObjectContext.map { _ = Plaque.make("born", in: $0) }
      }
    }
    var wasSaved = false
    other.onWillSave = { _ in wasSaved = true }
    let recorder = NotificationRecorder(context)
    try context.save()
    #expect(try savedTexts() == ["born", "edited", "first"])
    #expect(!context.hasChanges && plaque.remark == "seen" && wasSaved)
    let event = try #require(recorder.all(.didSave).only)
    #expect(
      event.inserted.count == 2 && event.updated == [other.objectID] && event.deleted == [gone.objectID])
    // And what is changed must be valid itself.
    plaque.text = "second"
    plaque.onText = { _, _ in if other.text?.count != 30 { other.text = String(repeating: "x", count: 30) } }
    #expect(errors { try context.save() }.map { ($0 as NSError).code } == [1660])
    #expect(try savedTexts() == ["born", "edited", "first"])
  }

  @Test("rule 230: one object's validation may mend another that was refused before")
  func laterRoundsDecide() throws {
    let broken = Plaque.make(String(repeating: "x", count: 30), in: context)
    let mender = Plaque.make("mender", in: context)
    mender.onInsert = { _ in if broken.text != "mended" { broken.text = "mended" } }
    try context.save()
    #expect(try savedTexts() == ["mended", "mender"])
  }

  @Test("rule 230: a change made before a fetch inside a validator counts as well")
  func editsThatWereToldCount() throws {
    let plaque = Plaque.make("Duke", in: context)
    plaque.onInsert = { plaque in
      guard plaque.remark == nil else { return }
      plaque.remark = "fetched"
      plaque.text = String(repeating: "x", count: 30)
      _ = try plaque.managedObjectContext?.fetch(FetchRequest<Plaque>(entityName: "Plaque"))
    }
    #expect(errors { try context.save() }.map { ($0 as NSError).code } == [1660])
  }

  @Test(
    "rule 233: inserted, updated and deleted objects are validated in this order, after delete propagation")
  func order() throws {
    let store = try TemporaryStore()
    let context = store.context()
    let (deleted, updated) = (Diary(context: context), Diary(context: context))
    try context.save()
    var order: [String] = []
    deleted.onValidate = { _ in order.append("deleted") }
    updated.onValidate = { _ in order.append("updated") }
    context.delete(deleted)
    updated.pages = 5
    let inserted = Diary(context: context)
    inserted.onValidate = { _ in order.append("inserted") }
    try context.save()
    #expect(order == ["inserted", "updated", "deleted"])
  }

  @Test(
    "rule 225: a class that overrides validateValue and says so sees every property of new and changed objects"
  )
  func overrides() throws {
    let ledger = Ledger(context: context)
    ledger["text"] = "a"
    ledger["pages"] = 0
    let error = errors { try context.save() }.first as? CoreDataError
    #expect(error?.code == .validationNumberTooSmall)
    #expect(Set(ledger.keys) == ["text", "pages"])
    ledger["pages"] = 1
    try context.save()
    #expect(ledger["text"] as? String == "A")
    ledger["pages"] = 2
    let before = ledger.keys.count
    try context.save()
    #expect(ledger.keys.count == before + 2)
  }

  @Test("rules 154, 225: a child's save validates in the child, and its parent hands it on as it is")
  func children() throws {
    let child = ManagedObjectContext(.confinement, parent: context)
    let plaque = Plaque.make(" Duke ", in: child)
    plaque.onText = trim
    let member = Member.make("duke", in: child)
    #expect(errors { try child.save() }.map { ($0 as NSError).code } == [1680])
    #expect(!context.hasChanges)
    member.name = "Duke"
    try child.save()
    #expect(plaque.text == "Duke" && context.insertedObjects.count == 2)
    try context.save()
    #expect(try savedTexts() == ["Duke"])
  }

  @Test("rules 224, 230: undo takes back what validation changed with the edit it belongs to")
  func undo() throws {
    let plaque = Plaque.make("Duke", in: context)
    try context.save()
    context.undoManager = UndoManager()
    plaque.onText = trim
    plaque.text = " Eddie "
    try context.save()
    #expect(plaque.text == "Eddie")
    context.undo()
    #expect(plaque.text == "Duke")
    try context.save()
    #expect(try savedTexts() == ["Duke"])
  }

  @Test("a validator that takes another type than the property's traps and names both")
  func wrongTypeTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try makeDoomedContainer(
        ClubModel.make { $0["Plaque"]?.managedObjectClass = WrongPlaque.self })
      let context = ManagedObjectContext(.confinement, coordinator: container.persistentStoreCoordinator)
      let plaque = WrongPlaque(context: context)
      plaque["text"] = "Duke"
      try context.save()
    }
    expectTrap(result, says: "WrongPlaque.text", "Date", "String")
  }

  @Test("a validator of a key that the entity does not have is reported when the model is taken into use")
  func unknownKeys() throws {
    let model = ClubModel.make { $0["Board"]?.managedObjectClass = Plaque.self }
    let error = #expect(throws: (any Error).self) { _ = try TemporaryStore(model) }
    #expect("\(error.map { "\($0)" } ?? "")".contains("validates text, which entity Board does not have"))
  }
}

/// Validation before a save that does not stop the context (rule 224; contexts 15).
@MainActor @Suite(.serialized)
struct AsynchronousValidationTests {
  @Test(
    "an asynchronous save validates before it freezes: replaced values are saved, invalid ones stay pending")
  func asynchronousSave() async throws {
    let store = try TemporaryStore(ClubModel.make())
    let main = store.context(.mainQueue)
    let plaque = Plaque.make(" Duke ", in: main)
    plaque.onText = { _, text in text = text?.trimmingCharacters(in: .whitespaces) }
    let member = Member.make("duke", in: main)
    await #expect(throws: CoreDataError.self) { try await main.saveAsynchronously() }
    #expect(main.insertedObjects == [plaque, member] && plaque.text == "Duke")
    member.name = "Duke"
    try await main.saveAsynchronously()
    #expect(!main.hasChanges)
    let names = try store.fresh { try $0.fetch(FetchRequest<Member>(entityName: "Member")).map(\.name) }
    #expect(names == ["Duke"])
  }
}
