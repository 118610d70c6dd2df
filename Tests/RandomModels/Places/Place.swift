import SwiftData

/// A context, and the models of it that the story holds on to. Used where the context is.
final class Place {
  let context: ModelContext
  private var held: [Int: any Node] = [:]
  /// Held models whose rows are gone, or never were.
  private var dead: [any Node] = []
  private var dice: Dice

  init(_ context: ModelContext, seed: UInt64) {
    self.context = context
    dice = Dice(seed: seed)
  }

  func apply(_ step: Step) throws {
    switch step {
    case .insert(let uid, let kind, let values, let links, let order):
      try insert(uid, kind, values, links, order)
    case .set(let uid, let values): set(values, of: try model(uid))
    case .relate(let uid, let link, let others):
      try model(uid).relate(link, try others.map(model))
    case .delete(let uid): try delete(uid)
    case .deleteAndInsert(let uid):
      let model = try model(uid)
      context.delete(model)
      context.insert(model)
    case .save:
      try context.save()
      // What others have deleted counts as deleted here until a save, and no longer.
      for model in dead where model.modelContext != nil || model.isDeleted {
        throw Disagreement("a dead model is in a context after a save")
      }
    case .saveInTransaction(let uid, let values):
      try context.transaction { set(values, of: try model(uid)) }
    case .rollback: context.rollback()
    case .forget(let uids): for uid in uids { held[uid] = nil }
    case .ask(let question, let answer):
      try question.ask(Comparison(question, answer, context))
    case .deleteStored(let kind, let name): try deleteStored(kind, name)
    case .compare(let expected): try compare(expected)
    }
  }

  // MARK: Finding

  /// The model: one that is held, or one that is looked up, and held from now on.
  private func model(_ uid: Int) throws -> any Node {
    if let known = held[uid] {
      // The context is used, and so shows what others have saved: a model by itself does not ask.
      _ = context.deletedModelsArray
      return known
    }
    func find<Model: Node>(_ type: Model.Type) throws -> (any Node)? {
      try context.fetch(Self.descriptor(of: uid) as FetchDescriptor<Model>).first
    }
    for type in Self.rootTypes {
      guard let found = try find(type) else { continue }
      // By its identifier it is the same one.
      let again = context.model(for: found.persistentModelID)
      guard again === found else { throw Disagreement("\(uid) by identifier is another instance") }
      held[uid] = found
      return found
    }
    throw Disagreement("there is no model \(uid)")
  }

  static let rootTypes: [any Node.Type] = [Thing.self, Part.self, Person.self, Label.self, House.self]

  private static func descriptor<Model: Node>(of uid: Int) -> FetchDescriptor<Model> {
    func typed<Other: Node>(_ descriptor: FetchDescriptor<Other>) -> FetchDescriptor<Model> {
      if let descriptor = descriptor as? FetchDescriptor<Model> { return descriptor }
      fatalError("\(Model.self) is none of the classes of the story")
    }
    if Model.self == Thing.self {
      return typed(FetchDescriptor<Thing>(predicate: #Predicate { $0.uid == uid }))
    }
    if Model.self == Part.self {
      return typed(FetchDescriptor<Part>(predicate: #Predicate { $0.uid == uid }))
    }
    if Model.self == Person.self {
      return typed(FetchDescriptor<Person>(predicate: #Predicate { $0.uid == uid }))
    }
    if Model.self == Label.self {
      return typed(FetchDescriptor<Label>(predicate: #Predicate { $0.uid == uid }))
    }
    return typed(FetchDescriptor<House>(predicate: #Predicate { $0.uid == uid }))
  }

  // MARK: Changing

  private func insert(
    _ uid: Int, _ kind: Kind, _ values: [Field: PlainValue], _ links: [Link: [Int]],
    _ order: InsertionOrder
  ) throws {
    let new = Self.type(of: kind).init(uid: uid)
    // Looked up before: a fetch would bring in what is only related yet.
    let others = try links.mapValues { try $0.map(model) }
    if order == .insertionFirst || links.isEmpty { context.insert(new) }
    set(values, of: new)
    for (link, models) in others.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      new.relate(link, models)
    }
    if order == .valuesFirst { context.insert(new) }
    // Nobody but the context may hold it.
    if dice.chance(60) { held[uid] = new }
    guard new.modelContext === context else {
      throw Disagreement("the new \(uid) is in no context, \(order)")
    }
  }

  private func set(_ values: [Field: PlainValue], of model: any Node) {
    for (attribute, value) in values.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      model.set(attribute, value)
    }
  }

  private func delete(_ uid: Int) throws {
    let model = try model(uid)
    let isNew = model.persistentModelID.isTemporary
    context.delete(model)
    if !isNew, !model.isDeleted { throw Disagreement("\(uid) does not count as deleted") }
    // Delete rules are carried out.
    context.processPendingChanges()
  }

  private func deleteStored(_ kind: Kind, _ name: String) throws {
    switch kind {
    case .thing: try context.delete(model: Thing.self, where: #Predicate { $0.name == name })
    case .tool: try context.delete(model: Tool.self, where: #Predicate { $0.name == name })
    case .toy: try context.delete(model: Toy.self, where: #Predicate { $0.name == name })
    case .part: try context.delete(model: Part.self, where: #Predicate { $0.name == name })
    case .person: try context.delete(model: Person.self, where: #Predicate { $0.name == name })
    case .label: try context.delete(model: Label.self, where: #Predicate { $0.text == name })
    case .house: try context.delete(model: House.self, where: #Predicate { $0.street == name })
    }
  }

  private static func type(of kind: Kind) -> any Node.Type {
    switch kind {
    case .thing: Thing.self
    case .tool: Tool.self
    case .toy: Toy.self
    case .part: Part.self
    case .person: Person.self
    case .label: Label.self
    case .house: House.self
    }
  }

  // MARK: Comparing

  private func compare(_ expected: Expected) throws {
    var found: [Int: any Node] = [:]
    func fetch<Model: Node>(_ type: Model.Type) throws {
      for model in try context.fetch(FetchDescriptor<Model>()) {
        guard found.updateValue(model, forKey: model.uid) == nil else {
          throw Disagreement("\(model.uid) was fetched twice")
        }
      }
    }
    for type in Self.rootTypes { try fetch(type) }
    try Self.requireSame("all models", Set(found.keys), Set(expected.records.keys))
    for (uid, model) in found.sorted(by: { $0.key < $1.key }) {
      try compare(uid, model, expected)
    }
    try compareChanges(expected)
    try bury(Set(found.keys), expected)
  }

  private func compare(_ uid: Int, _ model: any Node, _ expected: Expected) throws {
    if let known = held[uid], known !== model {
      throw Disagreement("\(uid) is another instance than the one that is held")
    }
    guard model.modelContext === context else { throw Disagreement("\(uid) is in another context") }
    if model.isDeleted { throw Disagreement("\(uid) counts as deleted") }
    let isNew = expected.inserted.contains(uid)
    if model.persistentModelID.isTemporary != isNew {
      throw Disagreement("\(uid) \(isNew ? "has no" : "has a") temporary identifier")
    }
    let record = model.record
    guard let wanted = expected.records[uid] else { return }
    if record == wanted { return }
    for attribute in wanted.kind.attributes where record.values[attribute] != wanted.values[attribute] {
      throw Disagreement(
        "\(wanted.kind) \(uid).\(attribute) is \(Self.words(record.values[attribute])), not \(Self.words(wanted.values[attribute]))"
      )
    }
    for link in wanted.kind.links {
      try Self.requireSame("\(wanted.kind) \(uid).\(link)", record[link], wanted[link])
    }
    throw Disagreement("\(uid) is a \(record.kind), not a \(wanted.kind)")
  }

  private func compareChanges(_ expected: Expected) throws {
    func uids(_ models: [any PersistentModel]) -> Set<Int> {
      Set(models.compactMap { ($0 as? any Node)?.uid })
    }
    try Self.requireSame("new models", uids(context.insertedModelsArray), expected.inserted)
    // Those that others have deleted are among them until the next save.
    let deleted = uids(context.deletedModelsArray)
    try Self.requireSame("deleted models", deleted.intersection(expected.stored), expected.deleted)
    if let hasChanges = expected.hasChanges, context.hasChanges != hasChanges {
      if !hasChanges, !context.deletedModelsArray.isEmpty { return }
      throw Disagreement("the context has \(hasChanges ? "no " : "")changes")
    }
  }

  /// Models that are held and not there are dead, unless they are only going to be deleted.
  private func bury(_ present: Set<Int>, _ expected: Expected) throws {
    for uid in held.keys.sorted() where !present.contains(uid) && !expected.deleted.contains(uid) {
      guard let model = held.removeValue(forKey: uid) else { continue }
      guard model.modelContext == nil || model.isDeleted else {
        throw Disagreement("\(uid) is gone, is in a context, and does not count as deleted")
      }
      dead.append(model)
    }
    // Whatever they show, they show something.
    for model in dead { _ = model.record }
    if dead.count > 40 { dead.removeFirst(20) }
  }

  static func requireSame(_ what: String, _ found: Set<Int>, _ wanted: Set<Int>) throws {
    if found == wanted { return }
    throw Disagreement(
      "\(what): missing \(wanted.subtracting(found).sorted()), too many \(found.subtracting(wanted).sorted())"
    )
  }

  private static func words(_ value: PlainValue?) -> String {
    value.map { String("\($0)".prefix(120)) } ?? "nothing"
  }
}

/// One question in one context.
private struct Comparison: Asker {
  let question: Question
  let answer: Answer
  let context: ModelContext

  init(_ question: Question, _ answer: Answer, _ context: ModelContext) {
    self.question = question
    self.answer = answer
    self.context = context
  }

  func ask<Model: Node>(_ descriptor: FetchDescriptor<Model>) throws {
    let found = try context.fetch(descriptor).map(\.uid)
    if question.isOrdered, found != answer.uids {
      throw Disagreement("\(question): found \(found), not \(answer.uids)")
    }
    guard Set(found).count == found.count else { throw Disagreement("\(question): found some twice") }
    try Place.requireSame("\(question)", Set(found), Set(answer.uids))
    let count = try context.fetchCount(descriptor)
    guard count == answer.uids.count else {
      throw Disagreement("\(question): counted \(count), not \(answer.uids.count)")
    }
    var stored = descriptor
    stored.includePendingChanges = false
    let storedCount = try context.fetchCount(stored)
    guard storedCount == answer.stored else {
      throw Disagreement("\(question): counted \(storedCount) in the store, not \(answer.stored)")
    }
    if question.isOrdered { return }
    let identifiers = try context.fetchIdentifiers(descriptor)
    guard identifiers.count == answer.uids.count else {
      throw Disagreement("\(question): found \(identifiers.count) identifiers, not \(answer.uids.count)")
    }
  }
}
