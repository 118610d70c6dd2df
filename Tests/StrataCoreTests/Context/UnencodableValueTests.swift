import Foundation
import Testing

@testable import StrataCore

/// What people are told of values that no row can hold: entity and property, not the number of a slot.
struct UnencodableValueTests {
  private static func makeModel() -> ManagedObjectModel {
    let note = EntityDescription(
      "Note",
      properties: [
        AttributeDescription("text", .string), AttributeDescription("body", .binaryData),
        AttributeDescription("page", .uri),
      ])
    return ManagedObjectModel(entities: [note])
  }

  private static func slot(_ name: String, _ entity: EntitySchema) throws -> Int {
    try #require(entity.slot(named: name))
  }

  @Test("rule 227: a text that is too long is 1660, other values are 1550; object, property, size are named")
  func errorsOfObjects() throws {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Self.makeModel())
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    let description = try #require(coordinator.managedObjectModel.entitiesByName["Note"])
    let note = ManagedObject(entity: description, insertInto: context)
    let entity = note.home.entity
    for (name, code) in [
      ("text", CoreDataError.Code.validationStringTooLong), ("body", .managedObjectValidation),
      ("page", .managedObjectValidation),
    ] {
      let reason = RowError.valueTooLong(slot: try Self.slot(name, entity), byteCount: 1_234, limit: 999)
      let error = UnencodableValue(object: note, reason: reason).error
      #expect(error.code == code)
      #expect(error.userInfo[CoreDataError.Key.validationObject] as? ManagedObject === note)
      #expect(error.userInfo[CoreDataError.Key.validationKey] as? String == name)
      #expect(
        error.errorDescription
          == "Note.\(name) takes 1234 bytes, and a store takes at most 999 bytes as one value.")
      // By Core Data's names, alone and where there is no object.
      for shown in [error, CoreDataError(reason, in: entity)] {
        let cocoa = FoundationErrors.error(for: shown) as NSError
        #expect(cocoa.domain == NSCocoaErrorDomain && cocoa.code == code.rawValue)
        #expect(cocoa.userInfo[CoreDataError.Key.validationKey] as? String == name)
        #expect(cocoa.localizedDescription.contains("Note.\(name)"))
      }
    }
  }

  @Test("Whatever is wrong with a value in a row is told with the names of the layout that it is in")
  func words() throws {
    let schema = try Self.makeModel().schema()
    let entity = try #require(schema.entity(named: "Note"))
    let slot = try Self.slot("body", entity)
    let reasons: [RowError] = [
      .valueOutsideRow(slot: slot), .damagedValue(slot: slot), .incompatibleLayouts(slot: slot),
      .wrongType(slot: slot), .valueTooLong(slot: slot, byteCount: 2, limit: 1),
    ]
    let other = try RowLayout(
      slots: (0...slot).map { RowLayout.Slot(name: "old\($0)", canonicalName: "old\($0)", kind: .data) })
    for reason in reasons {
      #expect(reason.words(in: entity).contains("Note.body") && !reason.words(in: entity).contains("slot"))
      #expect(reason.words(in: entity, other).contains("Note.old\(slot) "))
    }
    // What is about the row, or about a slot that the entity does not have, is what it was.
    for reason in [RowError.wrongChecksum, .tooShort(byteCount: 3), .damagedValue(slot: 99)] {
      #expect(reason.words(in: entity) == reason.description)
    }
  }

  @Test("An error of rows that nobody has translated is one of Cocoa's domain, too")
  func untranslated() {
    let error = FoundationErrors.error(for: RowError.wrongChecksum) as NSError
    #expect(error.domain == NSCocoaErrorDomain && error.code == CoreDataError.Code.coreData.rawValue)
    #expect(error.localizedDescription == RowError.wrongChecksum.description)
  }
}
