import StrataCore

// Setters of objects that have not been edited in this event, and of properties whose values are of another type in the model. Calls: what follows costs far more.

extension NSManagedAccessor {
  @usableFromInline borrowing func put(_ value: Int16, in object: NSManagedObject) {
    let place = property.place(in: object)
    if place.holds(.integer16) {
      object.write(value, slot: place.slot)
    } else {
      store(value, in: object, place)
    }
  }
  @usableFromInline borrowing func put(_ value: Int32, in object: NSManagedObject) {
    let place = property.place(in: object)
    if place.holds(.integer32) {
      object.write(value, slot: place.slot)
    } else {
      store(value, in: object, place)
    }
  }
  @usableFromInline borrowing func put(_ value: Int64, in object: NSManagedObject) {
    let place = property.place(in: object)
    if place.holds(.integer64) {
      object.write(value, slot: place.slot)
    } else {
      store(value, in: object, place)
    }
  }
  @usableFromInline borrowing func put(_ value: Int, in object: NSManagedObject) {
    let place = property.place(in: object)
    if place.holds(.integer64) {
      object.write(Int64(value), slot: place.slot)
    } else {
      store(value, in: object, place)
    }
  }
  @usableFromInline borrowing func put(_ value: Double, in object: NSManagedObject) {
    let place = property.place(in: object)
    if place.holds(.double) { object.write(value, slot: place.slot) } else { store(value, in: object, place) }
  }
  @usableFromInline borrowing func put(_ value: Float, in object: NSManagedObject) {
    let place = property.place(in: object)
    if place.holds(.float) { object.write(value, slot: place.slot) } else { store(value, in: object, place) }
  }
  @usableFromInline borrowing func put(_ value: Bool, in object: NSManagedObject) {
    let place = property.place(in: object)
    if place.holds(.boolean) {
      object.write(value, slot: place.slot)
    } else {
      store(value, in: object, place)
    }
  }
  @usableFromInline borrowing func put(_ value: String?, in object: NSManagedObject) {
    let place = property.place(in: object)
    if place.holds(.string) { object.write(value, slot: place.slot) } else { store(value, in: object, place) }
  }
  @usableFromInline borrowing func put(_ value: Date?, in object: NSManagedObject) {
    let place = property.place(in: object)
    if place.holds(.date) { object.write(value, slot: place.slot) } else { store(value, in: object, place) }
  }
}
