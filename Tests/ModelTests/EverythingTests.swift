import Foundation
import StrataModels
import Testing
import TortureKit

@Suite("What classes with @Managed can say")
struct EverythingTests {
  @Test("Values of every type are kept, and nil where there may be nil")
  func everyType() async throws {
    let container = try await PersistentContainer(for: Everything.self, at: .inMemory)
    let id = try await container.performBackgroundTask { context in
      let thing = Everything(context: context)
      #expect(
        thing.int8 == -8 && thing.int16 == -16 && thing.int32 == -32 && thing.int64 == -64 && thing.int == 7)
      #expect(
        thing.uint8 == 8 && thing.uint16 == 16 && thing.uint32 == 32 && thing.double == 1.5
          && thing.float == 2.5)
      #expect(thing.decimal == 3.25 && thing.flag && thing.text == "text" && thing.data == Data([1, 2, 3]))
      #expect(
        thing.date == Date(timeIntervalSinceReferenceDate: 1) && thing.rating == .fine
          && thing.flags == [.read])
      #expect(thing.color == Color(red: 1, green: 2) && thing.numbers == [1, 2] && thing.ratios == nil)
      #expect(
        thing.url == nil && thing.maybeInt == nil && thing.maybeRating == nil && thing.maybeColor == nil)
      // What stands for none.
      #expect(thing.bare == 0 && thing.needed == 1 && thing.former == nil && thing.month == 1)
      thing.int8 = .min
      thing.int16 = .max
      thing.int32 = .min
      thing.int64 = .max
      thing.int = .min
      thing.uint8 = .max
      thing.uint16 = .max
      thing.uint32 = .max
      thing.double = .infinity
      thing.float = -0.5
      thing.decimal = Decimal(string: "123456789012345678901234567890.5")!
      thing.flag = false
      thing.text = String(repeating: "long ", count: 1_000)
      thing.data = Data(repeating: 9, count: 5_000)
      thing.url = URL(string: "https://example.org/ä")
      thing.rating = .fair
      thing.flags = [.read, .write]
      thing.color.green = 9
      thing.address = Address(street: "Elm", number: nil, kind: .work)
      thing.former = Address(street: "Oak", number: 5)
      thing.numbers.append(3)
      thing.ratios = [0.5]
      thing.lookup["a"] = 1
      (thing.maybeInt8, thing.maybeInt16, thing.maybeInt32, thing.maybeInt64, thing.maybeInt) = (
        1, 2, 3, 4, 5
      )
      (thing.maybeDouble, thing.maybeFloat, thing.maybeDecimal, thing.maybeFlag) = (0, 0, 0, false)
      (thing.maybeText, thing.maybeData, thing.maybeRating) = ("", Data(), Rating.none)
      thing.maybeDate = Date(timeIntervalSinceReferenceDate: 0)
      thing.maybeUUID = thing.uuid
      thing.maybeColor = Color(red: 0, green: 0)
      thing.picture = Data([7])
      thing.owner = thing
      thing.scratch = "changed"
      try context.save()
      return thing.objectID
    }
    try await container.performBackgroundTask { context in
      let thing = try #require(try context.existingObject(with: id) as? Everything)
      #expect(
        thing.int8 == .min && thing.int16 == .max && thing.int32 == .min && thing.int64 == .max
          && thing.int == .min)
      #expect(
        thing.uint8 == .max && thing.uint16 == .max && thing.uint32 == .max && thing.double == .infinity)
      #expect(
        thing.float == -0.5 && thing.decimal == Decimal(string: "123456789012345678901234567890.5")
          && !thing.flag)
      #expect(
        thing.text.count == 5_000 && thing.data.count == 5_000
          && thing.url?.absoluteString.contains("example") == true)
      #expect(
        thing.rating == .fair && thing.flags == [.read, .write] && thing.color == Color(red: 1, green: 9))
      #expect(thing.address == Address(street: "Elm", number: nil, kind: .work))
      #expect(thing.former == Address(street: "Oak", number: 5, kind: .home))
      #expect(thing.numbers == [1, 2, 3] && thing.ratios == [0.5] && thing.lookup == ["a": 1])
      #expect(thing.maybeInt8 == 1 && thing.maybeInt16 == 2 && thing.maybeInt32 == 3 && thing.maybeInt64 == 4)
      #expect(
        thing.maybeInt == 5 && thing.maybeDouble == 0 && thing.maybeFloat == 0 && thing.maybeDecimal == 0)
      #expect(
        thing.maybeFlag == false && thing.maybeText == "" && thing.maybeData == Data()
          && thing.maybeRating == Rating.none)
      #expect(thing.maybeDate == Date(timeIntervalSinceReferenceDate: 0) && thing.maybeUUID == thing.uuid)
      #expect(thing.maybeColor == Color(red: 0, green: 0) && thing.picture == Data([7]))
      #expect(
        thing.owner == thing && thing.owned == [thing] && thing.flagged == []
          && thing.scratch == "kept by nobody")
      thing.flag = true
      thing.former = nil
      thing.ratios = nil
      (thing.maybeInt8, thing.maybeInt, thing.maybeDouble, thing.maybeText, thing.maybeRating) = (
        nil, nil, nil, nil, nil
      )
      thing.maybeColor = nil
      try context.save()
      context.refresh(thing, mergeChanges: false)
      #expect(thing.former == nil && thing.ratios == nil && thing.maybeInt8 == nil && thing.maybeInt == nil)
      #expect(
        thing.maybeDouble == nil && thing.maybeText == nil && thing.maybeRating == nil
          && thing.maybeColor == nil)
    }
  }

  @Test("Transient values of any type start with their default, are kept in memory, and never in the store")
  func transients() async throws {
    let container = try await PersistentContainer(for: Everything.self, at: .inMemory)
    try await container.performBackgroundTask { context in
      let thing = Everything(context: context)
      thing.address = Address(street: "Elm", number: 1)
      thing.owner = thing
      #expect(thing.cache.hits == 0 && thing.count == nil)
      thing.cache.hits += 3
      thing.count = 4
      try context.save()
      #expect(thing.cache.hits == 3 && thing.count == 4)
      context.refresh(thing, mergeChanges: false)
      #expect(thing.cache.hits == 0 && thing.count == nil)
    }
  }

  @Test("Options come to the model's descriptions")
  func options() throws {
    let model = try ManagedObjectModel(for: Everything.self)
    let thing = try #require(model.entitiesByName["Thing"])
    #expect(thing.managedObjectClass == Everything.self && thing.renamingIdentifier == "Item")
    #expect(thing.versionHashModifier == "2" && thing.uniquenessConstraints == [["text", "int16"]])
    #expect(thing.indexes.map(\.name).sorted() == ["byMonth", "byNumbers"])
    #expect(thing.indexes.first { $0.name == "byMonth" }?.elements.map(\.isAscending) == [false])
    #expect(model.configurations == ["All", "Main"])
    let attributes = thing.attributesByName
    #expect(attributes["bare"]?.isOptional == true && attributes["needed"]?.isOptional == false)
    #expect(attributes["picture"]?.allowsExternalBinaryDataStorage == true)
    #expect(attributes["picture"]?.preservesValueInHistoryOnDeletion == true)
    #expect(
      attributes["renamed"]?.renamingIdentifier == "oldName"
        && attributes["renamed"]?.versionHashModifier == "x")
    #expect(attributes["month"]?.validationWarnings == [nil, "There are twelve months."])
    #expect(attributes["code"]?.validationRules.count == 2 && attributes["code"]?.isOptional == true)
    #expect(
      attributes["int8"]?.attributeType == .integer16 && attributes["uint8"]?.attributeType == .integer16)
    #expect(
      attributes["uint16"]?.attributeType == .integer32 && attributes["uint32"]?.attributeType == .integer64)
    #expect(
      attributes["rating"]?.attributeType == .integer16 && attributes["flags"]?.attributeType == .integer32)
    #expect(attributes["color"]?.valueTransformerName == "Codable<Color>")
    #expect(attributes["cache"]?.isTransient == true && attributes["cache"]?.attributeType == .undefined)
    #expect(attributes["scratch"] == nil && attributes["doubled"] == nil)
    #expect(["numbers", "color", "lookup"].allSatisfy { attributes[$0]?.isOptional == false })
    #expect(["ratios", "maybeColor", "former"].allSatisfy { attributes[$0]?.isOptional == true })
    #expect(attributes["maybeColor"]?.valueTransformerName == "Codable<Color>")
    let address = try #require(attributes["address"] as? CompositeAttributeDescription)
    #expect(address.elements.map(\.name) == ["street", "number", "kind"])
    #expect(address.elements.map(\.isOptional) == [false, true, false] && !address.isOptional)
    let owner = try #require(thing.relationshipsByName["owner"])
    #expect(
      owner.deleteRule == .deny && !owner.isOptional && owner.renamingIdentifier == "boss" && !owner.isToMany)
    let owned = try #require(thing.relationshipsByName["owned"])
    #expect(
      owned.minCount == 1 && owned.maxCount == 3 && owned.inverseRelationship === owner && !owned.isOrdered)
  }
}
