import Foundation
import StrataModels
import Testing
import TortureKit

/// Declares its slots, and no entity.
private final class Listed: ManagedObject {
  static let title = Slot<Listed, String?>("title")
  static let size = Slot<Listed, Int>("size")
  override class var namedSlots: [NamedSlot]? { [NamedSlot(title), NamedSlot(size)] }

  var title: String? {
    get { read(Listed.title) }
    set { write(newValue, Listed.title) }
  }
  var size: Int {
    get { read(Listed.size) }
    set { write(newValue, Listed.size) }
  }
}

/// Has a property that is only in memory and looks like an attribute.
private final class Forgetful: ManagedObject {
  static let title = Slot<Forgetful, String?>("title")
  override class var namedSlots: [NamedSlot]? { [NamedSlot(title)] }
  var genre = ""
  var price: Decimal?
  var cache: [String: Int] = [:]
}

private final class Meaningful: ManagedObject {
  static let title = Slot<Meaningful, String?>("title")
  override class var namedSlots: [NamedSlot]? { [NamedSlot(title)] }
  override class var ignoredProperties: [String] { super.ignoredProperties + ["genre"] }
  var genre = ""
}

@Suite("Classes that find their slots by name, written by hand")
struct HandWrittenTests {
  private func refusal(_ type: AnyClass, _ properties: [PropertyDescription]) -> [String] {
    let model = ManagedObjectModel(entities: [
      EntityDescription("Thing", managedObjectClass: type, properties: properties)
    ])
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    do {
      try coordinator.addPersistentStore(.inMemory)
      return []
    } catch let error as ModelError {
      return error.sentences
    } catch {
      return ["\(error)"]
    }
  }

  @Test("The order of the model's properties means nothing")
  func orderMeansNothing() throws {
    #expect(
      refusal(
        Listed.self, [AttributeDescription("size", .integer64), AttributeDescription("title", .string)]) == []
    )
    #expect(
      refusal(
        Listed.self, [AttributeDescription("title", .string), AttributeDescription("size", .integer64)]) == []
    )
  }

  @Test("A missing declaration is refused with the line to add")
  func missingDeclaration() {
    let found = refusal(
      Listed.self,
      [
        AttributeDescription("title", .string), AttributeDescription("size", .integer64),
        AttributeDescription("due", .date),
        AttributeDescription("rank", .integer16, isOptional: false),
      ])
    #expect(
      found == [
        #"Class Listed does not declare the property due of entity Thing; add to it: static let due = Slot<Listed, Date?>("due")."#,
        #"Class Listed does not declare the property rank of entity Thing; add to it: static let rank = Slot<Listed, Int16>("rank")."#,
      ])
  }

  @Test("An extra declaration is refused with what there is")
  func extraDeclaration() {
    let found = refusal(
      Listed.self, [AttributeDescription("titel", .string), AttributeDescription("size", .integer64)])
    #expect(
      found.first
        == "Class Listed declares a property title, which entity Thing does not have; it has size, titel.")
  }

  @Test("Another type is refused, of attributes and of relationships")
  func otherType() {
    let found = refusal(
      Listed.self, [AttributeDescription("title", .string), AttributeDescription("size", .integer32)])
    #expect(
      found == [
        "Class Listed declares size as Int, but Thing.size is an attribute of type integer32; give one of them the other's type."
      ])
  }

  @Test("A stored property that looks like an attribute is refused, unless it is named as one that is meant")
  func storedProperties() {
    let found = refusal(Forgetful.self, [AttributeDescription("title", .string)])
    #expect(found.count == 2)
    #expect(
      found.first?.contains("stored property genre of type String, which looks like an attribute") == true)
    #expect(found.last?.contains(#"static let price = Slot<Forgetful, Optional<Decimal>>("price")"#) == true)
    #expect(refusal(Meaningful.self, [AttributeDescription("title", .string)]) == [])
  }
}

// MARK: Declarations that do not fit

private final class Loner: ManagedObject {
  static let other = Slot<Loner, Stranger?>("other")
  override class var entityDeclaration: EntityDeclaration? {
    EntityDeclaration(Loner.self, [other.relationship(inverse: "nobody")], file: "App/Loner.swift", line: 7)
  }
}
private final class Stranger: ManagedObject {
  static let place = "\(#fileID):\(#line + 4)"
  static let one = Slot<Stranger, Loner?>("one")
  static let two = Slot<Stranger, Set<Loner>>("two")
  override class var entityDeclaration: EntityDeclaration? {
    EntityDeclaration(Stranger.self, [one.relationship(), two.relationship()])
  }
}
private final class Twin: ManagedObject {
  override class var entityDeclaration: EntityDeclaration? {
    EntityDeclaration(Twin.self, [], .named("Loner"), file: "App/Twin.swift", line: 3)
  }
}
private final class Ambiguous: ManagedObject {
  static let first = Slot<Ambiguous, Companion?>("first")
  static let second = Slot<Ambiguous, Companion?>("second")
  override class var entityDeclaration: EntityDeclaration? {
    EntityDeclaration(Ambiguous.self, [first.relationship(), second.relationship()])
  }
}
private final class Companion: ManagedObject {
  static let others = Slot<Companion, Set<Ambiguous>>("others")
  override class var entityDeclaration: EntityDeclaration? {
    EntityDeclaration(Companion.self, [others.relationship()])
  }
}
private final class TwoEnds: ManagedObject {
  static let one = Slot<TwoEnds, TwoEnds?>("one")
  static let two = Slot<TwoEnds, TwoEnds?>("two")
  static let many = Slot<TwoEnds, Set<TwoEnds>>("many")
  override class var entityDeclaration: EntityDeclaration? {
    EntityDeclaration(
      TwoEnds.self,
      [one.relationship(inverse: "many"), two.relationship(inverse: "many"), many.relationship()])
  }
}

@Suite("Mistakes in declarations")
struct DeclarationTests {
  private func sentences(_ make: () throws -> ManagedObjectModel) -> [String] {
    do {
      _ = try make()
      return []
    } catch { return (error as? ModelError)?.sentences ?? ["\(error)"] }
  }

  @Test("An inverse that is not there, two classes of one name, an ambiguous inverse, two inverses")
  func mistakes() {
    #expect(
      sentences { try ManagedObjectModel(for: Loner.self) }
        == [
          "Relationship Loner.other names the inverse Stranger.nobody, which is no relationship there. Loner is declared in "
            + "App/Loner.swift:7, Stranger in \(Stranger.place)."
        ])
    #expect(
      sentences { try ManagedObjectModel(for: Loner.self, Twin.self) }.first
        == "Both class Loner (App/Loner.swift:7) and class Twin (App/Twin.swift:3) declare the entity Loner: give one of them another name."
    )
    let ambiguous = sentences { try ManagedObjectModel(for: Ambiguous.self) }
    #expect(
      ambiguous.contains {
        $0.hasPrefix(
          "Relationship Companion.others may have the inverse Ambiguous.first or Ambiguous.second: say which, at one end, with inverse:. "
        ) && $0.contains("HandWrittenTests.swift")
      })
    let two = sentences { try ManagedObjectModel(for: TwoEnds.self) }
    #expect(two.count == 1 && two.first?.contains("has two inverses") == true)
  }
}
