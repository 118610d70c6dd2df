import SwiftData
import Testing

@Suite("PersistentModel, BackingData, PersistentIdentifier")
struct ModelRows {
  @Test(
    "protocol PersistentModel; init(backingData:); persistentBackingData; schemaMetadata; createBackingData()"
  )
  func requirements() {
    func backed<M: PersistentModel>(_ type: M.Type) -> M {
      let backing: any BackingData<M> = M.createBackingData()
      return M(backingData: backing)
    }
    let trip = backed(Trip.self)
    trip.name = "a"
    #expect(trip.name == "a")
    #expect(Trip.schemaMetadata.count > 10)
    #expect(Lorry.schemaMetadata.count == Vehicle.schemaMetadata.count + 1)
    let other = Trip(name: "b")
    trip.persistentBackingData = other.persistentBackingData
    #expect(trip.name == "b")
  }

  @Test("func getValue/setValue(forKey:): attribute, to-one, optional to-one, to-many")
  func values() {
    let trip = Trip(name: "a")
    trip.setValue(forKey: \.name, to: "b")
    #expect(trip.getValue(forKey: \.name) == "b")
    let stay = Stay(hotel: "x")
    stay.setValue(forKey: \.trip, to: trip)
    #expect(stay.getValue(forKey: \.trip) === trip)
    trip.setValue(forKey: \.stays, to: [stay])
    #expect(trip.getValue(forKey: \.stays).first === stay)
    let guide = Guide(email: "e")
    guide.setValue(forKey: \.trips, to: [trip])
    #expect(guide.getValue(forKey: \.trips)?.count == 1)
  }

  @Test("func getTransformableValue/setTransformableValue(forKey:)")
  func transformableValues() {
    let one = Transformed()
    one.setTransformableValue(forKey: \.byName, to: Unlisted(text: "a"))
    #expect(one.getTransformableValue(forKey: \.byName) == Unlisted(text: "a"))
  }

  @Test("var modelContext, persistentModelID, id, hasChanges, isDeleted; == and hash(into:)")
  func state() throws {
    let context = try makeContext()
    let trip = Trip(name: "a")
    #expect(trip.modelContext == nil && !trip.isDeleted)
    let before: PersistentIdentifier = trip.persistentModelID
    #expect(trip.id == before && before.storeIdentifier == nil)
    context.insert(trip)
    #expect(trip.modelContext === context && trip.hasChanges)
    try context.save()
    #expect(!trip.hasChanges && trip.persistentModelID.storeIdentifier != nil)
    #expect(trip == trip && Set([trip, trip]).count == 1 && trip != Trip(name: "a"))
    context.delete(trip)
    #expect(trip.isDeleted)
  }

  @Test("protocol BackingData<Model>: init(for:), getValue/setValue")
  func backingData() {
    func tried<B: BackingData>(_ type: B.Type) where B.Model == Stay {
      let backing = B(for: Stay.self)
      backing.setValue(forKey: \.hotel, to: "x")
      #expect(backing.getValue(forKey: \.hotel) == "x")
    }
    func open<B: BackingData>(_ backing: B) where B.Model == Stay { tried(B.self) }
    open(Stay(hotel: "a").persistentBackingData)
  }

  @Test("associatedtype Root; var persistentModelID, metadata of BackingData")
  func hierarchy() throws {
    #expect(Lorry.Root.self == Vehicle.self && Trip.Root.self == Trip.self)
    let context = try makeContext()
    let stay = Stay(hotel: "a")
    let draft: any BackingData<Stay> = stay.persistentBackingData
    #expect(draft.persistentModelID == stay.persistentModelID && "\(draft.metadata)".contains("Stay"))
    context.insert(stay)
    try context.save()
    #expect(stay.persistentBackingData.persistentModelID == stay.persistentModelID)
  }

  @Test("protocol RelationshipCollection { associatedtype PersistentElement }: arrays and optional arrays")
  func relationshipCollection() {
    func element<C: RelationshipCollection>(_: C.Type) -> any PersistentModel.Type {
      C.PersistentElement.self
    }
    #expect(ObjectIdentifier(element([Stay].self)) == ObjectIdentifier(Stay.self))
    #expect(ObjectIdentifier(element([Stay]?.self)) == ObjectIdentifier(Stay.self))
  }

  @Test("struct PersistentIdentifier: Hashable, Identifiable, Comparable, Codable, Sendable")
  func identifier() throws {
    let context = try makeContext()
    let trip = Trip(name: "a")
    #expect(trip.persistentModelID.isTemporary)
    context.insert(trip)
    try context.save()
    let identifier = trip.persistentModelID
    #expect(!identifier.isTemporary)
    #expect(identifier.entityName == "Trip" && identifier.storeIdentifier != nil)
    let nested: PersistentIdentifier.ID = identifier.id
    #expect(nested == identifier.id)
    #expect(!(identifier < identifier))
    func isSendable<S: Sendable & Codable & Hashable & Comparable>(_: S) -> Bool { true }
    #expect(isSendable(identifier))
    let read = try JSONDecoder().decode(
      PersistentIdentifier.self, from: JSONEncoder().encode(identifier))
    #expect(read == identifier)
  }
}
