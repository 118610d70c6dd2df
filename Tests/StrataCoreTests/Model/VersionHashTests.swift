import Foundation
import Testing

@testable import StrataCore

@Suite struct VersionHashTests {
  /// The hashes of the library after a change.
  private func hashes(_ change: (ManagedObjectModel) -> Void = { _ in }) -> [String: Data] {
    let model = makeLibrary()
    change(model)
    return model.entityVersionHashesByName
  }

  /// The names of the entities whose hash differs.
  private func changed(_ change: (ManagedObjectModel) -> Void) -> [String] {
    let before = hashes()
    return hashes(change).filter { before[$0.key] != $0.value }.keys.sorted()
  }

  @Test("Identical models built twice hash equally, in any order of properties (rule 301)")
  func orderDoesNotMatter() {
    #expect(hashes() == hashes())
    #expect(changed { $0.entitiesByName["Book"]!.properties.reverse() }.isEmpty)
    #expect(makeLibrary().versionChecksum == makeLibrary().versionChecksum)
  }

  @Test("What counts: name, optional, transient, type, modifier, abstract, constraints (rule 299)")
  func whatCounts() {
    func attribute(_ model: ManagedObjectModel) -> AttributeDescription {
      model.entitiesByName["Shelf"]!.attributesByName["row"]!
    }
    func shelf(_ model: ManagedObjectModel) -> EntityDescription { model.entitiesByName["Shelf"]! }
    #expect(changed { attribute($0).name = "rows" } == ["Shelf"])
    #expect(changed { attribute($0).isOptional = false } == ["Shelf"])
    #expect(changed { attribute($0).isTransient = true } == ["Shelf"])
    #expect(changed { attribute($0).attributeType = .integer32 } == ["Shelf"])
    #expect(changed { attribute($0).versionHashModifier = "2" } == ["Shelf"])
    #expect(changed { shelf($0).isAbstract = true } == ["Shelf"])
    #expect(changed { shelf($0).versionHashModifier = "2" } == ["Shelf"])
    #expect(changed { shelf($0).uniquenessConstraints = [["row"]] } == ["Shelf"])
    #expect(changed { shelf($0).properties = [] } == ["Shelf"])
  }

  @Test(
    "What does not count: indexes, user info, class, defaults, rules, renaming identifiers (rules 299, 346)")
  func whatDoesNotCount() {
    #expect(
      changed { model in
        let book = model.entitiesByName["Book"]!
        book.indexes = [FetchIndexDescription(name: "new", attributes: ["pages"])]
        book.userInfo = ["a": "b"]
        book.managedObjectClass = PlainObject.self
        book.renamingIdentifier = "Volume"
        book.attributesByName["pages"]!.defaultValue = 7
        book.attributesByName["pages"]!.validationRules = [.minimum(1, warning: "Empty.")]
        book.attributesByName["pages"]!.renamingIdentifier = "sheets"
        book.attributesByName["pages"]!.userInfo = ["c": 1]
        book.attributesByName["pages"]!.allowsExternalBinaryDataStorage = true
        model.versionIdentifiers = ["x"]
      }.isEmpty)
  }

  @Test("A subentity's change alters its own hash, a parent's those of its children too (rule 300)")
  func inheritanceCounts() {
    #expect(changed { $0.entitiesByName["Comic"]!.isAbstract = true } == ["Comic"])
    #expect(changed { $0.entitiesByName["Book"]!.isAbstract = true } == ["Book", "Comic"])
    #expect(changed { $0.entitiesByName["Item"]!.isAbstract = false } == ["Book", "Comic", "Item"])
  }

  @Test("An entity hashes the same alone and inside a model (rule 302)")
  func entitiesHashTheSameAlone() {
    let alone = EntityDescription("Shelf", properties: [AttributeDescription("row", .integer16)])
    #expect(alone.versionHash == hashes()["Shelf"])
    #expect(alone.versionHash.count == 32)
  }

  @Test("Relationships count with destination, inverse, counts and order (rule 299)")
  func relationshipsCount() {
    func hash(_ change: (RelationshipDescription) -> Void) -> Data {
      let a = EntityDescription("A")
      let b = EntityDescription("B")
      let there = RelationshipDescription("there", to: b, maxCount: 0)
      let back = RelationshipDescription("back", to: a, maxCount: 1)
      there.inverseRelationship = back
      a.properties = [there]
      b.properties = [back]
      change(there)
      return withExtendedLifetime((a, b)) { a.versionHash }
    }
    let plain = hash { _ in }
    #expect(hash { $0.deleteRule = .cascade } == plain)
    #expect(hash { $0.maxCount = 1 } != plain)
    #expect(hash { $0.minCount = 1 } != plain)
    #expect(hash { $0.isOrdered = true } != plain)
    #expect(hash { $0.inverseRelationship = nil } != plain)
    #expect(hash { $0.destinationEntity = $0.entity } != plain)
  }

  @Test("The checksum is Base64 of 128 bits (rule 315)")
  func checksumHas128Bits() {
    #expect(Data(base64Encoded: makeLibrary().versionChecksum)?.count == 16)
    #expect(makeFullModel().versionChecksum != makeLibrary().versionChecksum)
  }

  @Test("SHA-256 gives the standard's examples")
  func sha256IsStandard() {
    func hex(_ text: String) -> String {
      SHA256.digest(of: Array(text.utf8)).map { String(format: "%02x", $0) }.joined()
    }
    #expect(hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    #expect(
      hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")
        == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
  }

  @Test("A configuration is compatible with metadata of exactly its hashes (rules 303, 305)")
  func configurationsKnowTheirMetadata() {
    let model = makeLibrary()
    model.setEntities([model.entitiesByName["Shelf"]!], forConfigurationName: "Furniture")
    let all: [String: Any] = [StoreMetadataKey.modelVersionHashes: model.entityVersionHashesByName]
    let shelf = model.entityVersionHashesByName.filter { $0.key == "Shelf" }
    #expect(model.isConfiguration(withName: nil, compatibleWithStoreMetadata: all))
    #expect(!model.isConfiguration(withName: nil, compatibleWithStoreMetadata: [:]))
    #expect(!model.isConfiguration(withName: "Furniture", compatibleWithStoreMetadata: all))
    #expect(
      model.isConfiguration(
        withName: "Furniture", compatibleWithStoreMetadata: [StoreMetadataKey.modelVersionHashes: shelf]))
    #expect(!model.isConfiguration(withName: "Unknown", compatibleWithStoreMetadata: all))
    #expect(model.entities(forConfigurationName: nil)?.count == 4)
    #expect(model.configurations == ["Furniture"] && model.entities(forConfigurationName: "x") == nil)
  }
}
